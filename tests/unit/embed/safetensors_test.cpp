// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "safetensors.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstring>

#include "embed_support.hpp"

using embed::safetensors_file;

namespace {

std::string file_of(std::string_view header, std::string_view data) {
  std::uint64_t const length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes.append(header).append(data);
}

// A header with one tensor of two F32, padded to keep the data aligned.
constexpr std::string_view good_header =
    R"({"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}}        )";
static_assert(good_header.size() % 8 == 0);

hocket::error refusal(std::string_view bytes) {
  embed_test::scratch_directory const directory;
  auto const path = directory.write("hostile.safetensors", bytes);
  return embed_test::error_of([&path] { safetensors_file const file(path); });
}

void check_refused(std::string_view header, std::size_t data_bytes, hocket::errc code,
                   std::string_view story) {
  CAPTURE(header);
  hocket::error const e = refusal(file_of(header, std::string(data_bytes, 'x')));
  CHECK(e.code() == code);
  CAPTURE(e.what());
  CHECK(std::string_view(e.what()).find(story) != std::string_view::npos);
}

}  // namespace

TEST_CASE("a well-formed file gives its values") {
  embed_test::scratch_directory const directory;
  std::array const values = {1.5F, -2.25F};
  std::string data(sizeof values, '\0');
  std::memcpy(data.data(), values.data(), sizeof values);
  safetensors_file const file(directory.write("good", file_of(good_header, data)));
  CHECK(file.size() == 1);
  CHECK(file.at("a").dtype == "F32");
  std::array<std::int64_t, 2> const shape = {2, 1};
  std::span<float const> const read = file.f32("a", shape);
  REQUIRE(read.size() == 2);
  CHECK(read[0] == 1.5F);
  CHECK(read[1] == -2.25F);

  std::array<std::int64_t, 2> const other = {1, 2};
  auto const wrong = embed_test::error_of([&] { (void)file.f32("a", other); });
  CHECK(wrong.code() == hocket::errc::corrupt);
  CHECK(std::string(wrong.what()).find("\"a\" is [2,1], the configuration says [1,2]") !=
        std::string::npos);
  auto const absent = embed_test::error_of([&] { (void)file.at("b"); });
  CHECK(absent.code() == hocket::errc::corrupt);
}

TEST_CASE("metadata and tensors without elements are no tensors of data") {
  embed_test::scratch_directory const directory;
  safetensors_file const file(directory.write(
      "empty",
      file_of(R"({"__metadata__":{"x":"y"},"e":{"dtype":"I64","shape":[0,7],)"
              R"("data_offsets":[0,0]},"s":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})",
              "z")));
  CHECK(file.size() == 2);
  CHECK(file.at("e").bytes.empty());
  CHECK(file.at("s").bytes.size() == 1);
}

TEST_CASE("values of another dtype or at an odd address are not read as floats") {
  embed_test::scratch_directory const directory;
  std::string const header = R"({"h":{"dtype":"F16","shape":[1],"data_offsets":[0,2]},)"
                             R"("f":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})";
  std::string const padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  safetensors_file const file(directory.write("mixed", file_of(padded, "123456")));
  std::array<std::int64_t, 1> const shape = {1};
  for (char const* const name : {"h", "f"}) {
    auto const e = embed_test::error_of([&] { (void)file.f32(name, shape); });
    CHECK(e.code() == hocket::errc::unsupported);
  }
}

TEST_CASE("a file shorter than it says is refused") {
  for (std::string_view const bytes : {"", "1234567"}) {
    auto const e = refusal(bytes);
    CHECK(e.code() == hocket::errc::corrupt);
  }
  std::string huge = file_of(good_header, "12345678");
  huge[7] = '\x7f';
  CHECK(refusal(huge).code() == hocket::errc::too_large);
  huge[7] = '\0';
  huge[2] = '\x01';
  CHECK(refusal(huge).code() == hocket::errc::corrupt);
  std::string const whole = file_of(good_header, "12345678");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    CAPTURE(n);
    CHECK(refusal(std::string_view(whole).substr(0, n)).code() == hocket::errc::corrupt);
  }
  CHECK(refusal(whole).code() == boost::system::error_code());
}

TEST_CASE("a header that is no object of tensors is refused") {
  using hocket::errc;
  check_refused("", 0, errc::corrupt, "not JSON");
  check_refused("{", 0, errc::corrupt, "not JSON");
  check_refused("[]", 0, errc::corrupt, "not a JSON object");
  check_refused(std::string(10000, '['), 0, errc::corrupt, "not JSON");
  check_refused(R"({"a":1})", 0, errc::corrupt, "\"a\" is not an object");
  check_refused(R"({"a":{}})", 0, errc::corrupt, "\"a\" needs dtype");
  check_refused(R"({"a":{"dtype":7,"shape":[],"data_offsets":[0,1]}})", 1, errc::corrupt, "needs");
  check_refused(R"({"a":{"dtype":"F9","shape":[1],"data_offsets":[0,1]}})", 1, errc::unsupported,
                "unknown dtype \"F9\"");
  check_refused(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1, errc::corrupt,
                "needs");
  check_refused(R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", 1, errc::corrupt,
                "needs");
  check_refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", 1, errc::corrupt,
                "needs");
  check_refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,18446744073709551615]}})", 1,
                errc::corrupt, "needs");
}

TEST_CASE("offsets and shapes that do not fit the data are refused with their numbers") {
  using hocket::errc;
  check_refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 3, errc::corrupt,
                "spans bytes [0, 4) of 3");
  check_refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[2,1]}})", 3, errc::corrupt,
                "spans bytes [2, 1) of 3");
  check_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, errc::corrupt,
                "F32[2] in 4 bytes");
  check_refused(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 0,
                errc::corrupt, "in 0 bytes");
  check_refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2, errc::corrupt,
                "hole or overlap at byte 1: expected 0");
  check_refused(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                3, errc::corrupt, "hole or overlap at byte 1: expected 2");
  check_refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 3, errc::corrupt,
                "end at byte 1 of 3");
  check_refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                2, errc::corrupt, "hole or overlap");
}

TEST_CASE("any one changed bit of a file is read or refused, never more") {
  std::string const whole = file_of(good_header, "12345678");
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    CAPTURE(bit);
    std::string changed = whole;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    auto const code = refusal(changed).code();
    bool const is_known = !code || code == hocket::errc::corrupt ||
                          code == hocket::errc::unsupported || code == hocket::errc::too_large;
    CHECK(is_known);
  }
}

TEST_CASE("what is no file keeps the system's code") {
  embed_test::scratch_directory const directory;
  auto const absent =
      embed_test::error_of([&] { safetensors_file const file(directory.path() / "none"); });
  CHECK(absent.code() == boost::system::errc::no_such_file_or_directory);
  auto const folder = embed_test::error_of([&] { safetensors_file const file(directory.path()); });
  CHECK(folder.code() == boost::system::errc::is_a_directory);
}
