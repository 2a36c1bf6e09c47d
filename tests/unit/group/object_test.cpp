// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <hocket/error.hpp>
#include <hocket/group/object.hpp>
#include <limits>
#include <object_sample.hpp>
#include <span>
#include <string>
#include <string_view>

namespace {

using hocket::decode_object;
using hocket::encode_object;

template <class T>
T round_trip(T const& value) {
  return decode_object<T>(encode_object(value));
}

template <class T>
bool survives(T const& value) {
  return round_trip(value) == value;
}

template <class To, class From>
std::string story_of(From const& value) {
  try {
    (void)decode_object<To>(encode_object(value));
  } catch (hocket::error const& e) {
    return e.code().message() + ": " + e.what();
  }
  return "no error";
}

template <class T>
void check_limits() {
  CHECK(survives(std::numeric_limits<T>::min()));
  CHECK(survives(std::numeric_limits<T>::max()));
  CHECK(survives(T{0}));
}

}  // namespace

TEST_CASE("every integer type keeps its smallest and largest value") {
  check_limits<bool>();
  check_limits<char>();
  check_limits<std::int8_t>();
  check_limits<std::uint8_t>();
  check_limits<std::int16_t>();
  check_limits<char16_t>();
  check_limits<std::int32_t>();
  check_limits<std::uint32_t>();
  check_limits<long>();
  check_limits<unsigned long>();
  check_limits<long long>();
  check_limits<unsigned long long>();
}

TEST_CASE("floats keep every bit, of a signed zero and of a NaN too") {
  CHECK(std::signbit(round_trip(-0.0)));
  CHECK(std::isnan(round_trip(std::numeric_limits<float>::quiet_NaN())));
  CHECK(survives(std::numeric_limits<double>::denorm_min()));
  CHECK(survives(-std::numeric_limits<float>::infinity()));
}

TEST_CASE("an integer changes width and sign where the value fits, and names it where not") {
  CHECK(decode_object<std::uint8_t>(encode_object(std::int64_t{255})) == 255);
  CHECK(decode_object<std::int64_t>(encode_object(std::uint8_t{255})) == 255);
  CHECK(decode_object<std::int8_t>(encode_object(-128)) == -128);
  CHECK(story_of<std::uint8_t>(256) == "corrupt: object: 256 does not fit u8 at byte 32");
  CHECK(story_of<std::int8_t>(-129) == "corrupt: object: -129 does not fit i8 at byte 32");
  CHECK(story_of<std::uint64_t>(-1) == "corrupt: object: -1 does not fit u64 at byte 32");
  CHECK(story_of<std::int64_t>(std::numeric_limits<std::uint64_t>::max()) ==
        "corrupt: object: 18446744073709551615 does not fit i64 at byte 32");
  std::vector<std::int64_t> const wide = {1, -2, 300};
  CHECK(decode_object<std::vector<std::int16_t>>(encode_object(wide)) ==
        std::vector<std::int16_t>{1, -2, 300});
  CHECK(story_of<std::vector<std::int8_t>>(wide) ==
        "corrupt: object: 300 does not fit i8 at byte 32");
  CHECK(story_of<std::array<std::uint32_t, 3>>(wide) ==
        "corrupt: object: -2 does not fit u32 at byte 32");
}

TEST_CASE("strings and blobs survive: empty, with zero bytes, of 1 MiB") {
  CHECK(survives(std::string()));
  CHECK(survives(std::string("\0\xff\0", 3)));
  std::string large(1 << 20, ' ');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 31 >> 3);
  CHECK(survives(large));
  CHECK(survives(std::vector<std::string>{large, "", large}));
  CHECK(survives(std::vector<std::byte>()));
  CHECK(survives(std::vector<std::byte>(70001, std::byte{5})));
  CHECK(survives(std::array<std::byte, 3>{std::byte{1}, std::byte{2}, std::byte{3}}));
  CHECK(survives(std::array<std::byte, 0>{}));
}

TEST_CASE("a view and a span are read as what owns their bytes") {
  CHECK(decode_object<std::string>(encode_object(std::string_view("seven"))) == "seven");
  std::vector<int> const numbers = {5, -6, 7};
  CHECK(decode_object<std::vector<int>>(encode_object(std::span(numbers))) == numbers);
  auto const raw = std::as_bytes(std::span(numbers));
  CHECK(decode_object<std::vector<std::byte>>(encode_object(raw)) ==
        std::vector<std::byte>(raw.begin(), raw.end()));
}

TEST_CASE("containers survive, empty and nested") {
  CHECK(survives(std::vector<int>()));
  CHECK(survives(std::vector<std::vector<std::string>>{{}, {"a", ""}, {}}));
  CHECK(survives(std::vector<bool>{true, false, true}));
  CHECK(survives(std::vector<bool>()));
  CHECK(survives(std::array<std::string, 2>{"x", "y"}));
  CHECK(survives(std::array<std::vector<bool>, 0>{}));
  CHECK(survives(std::map<int, std::map<std::string, double>>{{1, {{"a", 0.5}}}, {2, {}}}));
  CHECK(survives(std::map<std::pair<int, bool>, int>()));
  CHECK(survives(std::unordered_map<std::string, std::vector<float>>{{"w", {1.F}}, {"b", {}}}));
  CHECK(survives(std::optional<std::optional<int>>(std::optional<int>())));
  CHECK(survives(std::optional<std::optional<int>>()));
  CHECK(survives(std::optional<std::optional<int>>(7)));
  CHECK(survives(std::tuple<>()));
  CHECK(survives(std::tuple(1, std::string("2"), 3.0, std::pair(true, 'c'))));
  CHECK(survives(std::variant<int, std::string, int>(std::in_place_index<2>, 8)));
  CHECK(survives(std::variant<std::monostate, int>()));
}

TEST_CASE("a value that was there before is replaced whole") {
  struct holder {
    std::vector<int> v = {1, 2, 3};
    std::map<int, int> m = {{1, 1}};
    std::optional<int> o = 3;
  };
  auto const p = encode_object(
      std::tuple(std::vector<int>{9}, std::map<int, int>{{2, 2}}, std::optional<int>()));
  holder h;
  auto value = std::tie(h.v, h.m, h.o);
  hocket::detail::object_reader r(p, hocket::object_limits());
  r.value(value);
  CHECK(h.v == std::vector<int>{9});
  CHECK(h.m == std::map<int, int>{{2, 2}});
  CHECK_FALSE(h.o.has_value());
}

TEST_CASE("enums travel as integers, also where bool is below them") {
  enum class yes_no : bool { no, yes };
  CHECK(survives(sample::mode::draft));
  CHECK(survives(yes_no::yes));
  CHECK(decode_object<int>(encode_object(sample::mode::draft)) == -3);
}

TEST_CASE("a sample of everything survives, and its tensors are the same ones") {
  auto const e = sample::make_everything();
  auto const p = encode_object(e);
  auto const back = decode_object<sample::everything>(p);
  CHECK(sample::same(e, back));
  CHECK(back.weights.same_object(e.weights));
  CHECK_FALSE(back.undefined.defined());
  CHECK(p.tensors.size() == 4);
}

TEST_CASE("the types of a mismatch are named, with the byte") {
  CHECK(story_of<int>(std::string("x")) ==
        "mismatch: object: expected i64 or u64, got string at byte 32");
  CHECK(story_of<float>(1.5) == "mismatch: object: expected f32, got f64 at byte 32");
  CHECK(story_of<std::vector<std::byte>>(std::string()) ==
        "mismatch: object: expected bytes, got string at byte 32");
  CHECK(story_of<std::vector<int>>(std::vector<float>{1}) ==
        "mismatch: object: expected packed array of i32, got packed array of f32 at byte 32");
  CHECK(story_of<std::array<int, 3>>(std::vector<int>{1, 2}) ==
        "mismatch: object: expected 3 elements, got 2 at byte 32");
  CHECK(story_of<std::tuple<int, int>>(std::tuple(1, 2, 3)) ==
        "mismatch: object: expected 2 elements, got 3 at byte 32");
  CHECK(story_of<std::pair<int, std::string>>(std::pair(1, 2)) ==
        "mismatch: object: expected string, got i64 at byte 50");
  CHECK(story_of<std::variant<int>>(std::variant<int, bool>(true)) ==
        "mismatch: object: alternative 1 of a variant of 1 at byte 32");
  CHECK(story_of<std::optional<int>>(3) ==
        "mismatch: object: expected optional, got i64 at byte 32");
  CHECK(story_of<hocket::tensor>(3) == "mismatch: object: expected tensor, got i64 at byte 32");
}

TEST_CASE("an object tells which tensors it holds before they have come") {
  auto const e = sample::make_everything();
  auto const p = encode_object(e);
  auto const forms = hocket::tensors_of(std::as_bytes(p.bytes.as_span<std::uint8_t>()));
  REQUIRE(forms.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(forms[i].dtype == p.tensors[i].dtype());
    CHECK(forms[i].shape == p.tensors[i].shape());
  }
}
