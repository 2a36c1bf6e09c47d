// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <cstdint>
#include <hocket/error.hpp>
#include <hocket/group/object.hpp>
#include <object_frames.hpp>
#include <object_sample.hpp>
#include <random>
#include <string>
#include <vector>

namespace {

using hocket::decode_object;
using hocket::encode_object;
using hocket::errc;

/// A struct that holds itself: two levels a generation.
struct tree {
  std::vector<tree> children;
  template <class V>
  friend void hocket_describe(V& v, tree& t) {
    v(t.children, "children");
  }
};

tree chain(int generations) {
  tree t;
  for (int i = 1; i < generations; ++i) {
    tree parent;
    parent.children.push_back(std::move(t));
    t = std::move(parent);
  }
  return t;
}

template <class Call>
boost::system::error_code code_of(Call const& call) {
  try {
    call();
  } catch (hocket::error const& e) {
    return e.code();
  }
  return {};
}

template <class T>
boost::system::error_code code_of_decoding(hocket::parcel const& p) {
  return code_of([&p] { (void)decode_object<T>(p); });
}

/// The writer's primitives, for payloads that no encoder makes.
class payload {
 public:
  payload& tag(hocket::detail::wire_tag t) {
    bytes_.push_back(static_cast<std::byte>(t));
    return *this;
  }
  template <class T>
  payload& number(T n) {
    auto const* const from = reinterpret_cast<std::byte const*>(&n);
    bytes_.insert(bytes_.end(), from, from + sizeof n);
    return *this;
  }
  [[nodiscard]] hocket::parcel seal() const { return support::sealed(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

using hocket::detail::wire_tag;

}  // namespace

TEST_CASE("a header keeps lengths of 64 bits") {
  for (std::uint64_t const length : {std::uint64_t{0}, std::uint64_t{2400000401},
                                     (std::uint64_t{1} << 63) - 1, ~std::uint64_t{0}}) {
    hocket::object_header h;
    h.payload_bytes = length;
    h.tensor_count = length / 3;
    h.payload_crc = 0xdeadbeef;
    CHECK(hocket::decode_object_header(hocket::encode_object_header(h)) == h);
  }
}

TEST_CASE("a header that promises too much or too little is refused before anything is made") {
  hocket::object_header h;
  h.payload_bytes = (std::uint64_t{1} << 63) - 1;
  CHECK(code_of_decoding<int>(support::parcel_of(hocket::encode_object_header(h))) ==
        errc::too_large);
  h.payload_bytes = 2400000401;
  auto const p = support::parcel_of(hocket::encode_object_header(h));
  CHECK(code_of_decoding<int>(p) == errc::too_large);
  auto const wide = hocket::object_limits().bytes_max(std::uint64_t{1} << 40);
  CHECK(code_of([&] { (void)decode_object<int>(p, wide); }) == errc::corrupt);
  h.payload_bytes = 0;
  h.tensor_count = ~std::uint64_t{0};
  CHECK(code_of_decoding<int>(support::parcel_of(hocket::encode_object_header(h))) ==
        errc::corrupt);
}

TEST_CASE("every truncation of a sample is corrupt") {
  auto const p = encode_object(sample::make_everything());
  auto const bytes = support::bytes_of(p);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    auto const part = support::parcel_of(std::span(bytes).first(n), p.tensors);
    CHECK(code_of_decoding<sample::everything>(part) == errc::corrupt);
  }
}

TEST_CASE("every flipped bit of a sample is corrupt") {
  auto const p = encode_object(sample::make_everything());
  auto bytes = support::bytes_of(p);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    auto const mask = static_cast<std::byte>(1 << bit % 8);
    bytes[bit / 8] ^= mask;
    auto const code = code_of_decoding<sample::everything>(support::parcel_of(bytes, p.tensors));
    if (code != errc::corrupt) FAIL_CHECK("bit " << bit << ": " << code.message());
    bytes[bit / 8] ^= mask;
  }
}

TEST_CASE("behind a right CRC every truncation is a typed error, every flip a value or one") {
  auto const p = encode_object(sample::make_everything());
  auto const whole = support::bytes_of(p);
  std::vector<std::byte> payload(whole.begin() + hocket::object_header_bytes, whole.end());
  for (std::size_t n = 0; n < payload.size(); ++n) {
    auto const part = support::sealed(std::span(payload).first(n), p.tensors);
    CHECK(code_of_decoding<sample::everything>(part).category() == hocket::hocket_category());
  }
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < 8 * payload.size(); ++bit) {
    auto const mask = static_cast<std::byte>(1 << bit % 8);
    payload[bit / 8] ^= mask;
    auto const code = code_of_decoding<sample::everything>(support::sealed(payload, p.tensors));
    if (code) CHECK(code.category() == hocket::hocket_category());
    refused += code ? 1 : 0;
    payload[bit / 8] ^= mask;
  }
  CHECK(refused > 8 * payload.size() / 2);
}

TEST_CASE("bytes after the value are noticed, and so is a value that is missing") {
  auto bytes = support::bytes_of(encode_object(5));
  std::vector<std::byte> payload(bytes.begin() + hocket::object_header_bytes, bytes.end());
  payload.push_back(std::byte{0});
  CHECK(code_of_decoding<int>(support::sealed(payload)) == errc::mismatch);
  CHECK(code_of_decoding<int>(support::sealed({})) == errc::corrupt);
}

TEST_CASE("lengths past the bytes that are there are corrupt, and make no room") {
  for (std::uint64_t const n : {std::uint64_t{1}, std::uint64_t{2400000401},
                                (std::uint64_t{1} << 61) + 1, ~std::uint64_t{0}}) {
    CHECK(code_of_decoding<std::string>(payload().tag(wire_tag::string).number(n).seal()) ==
          errc::corrupt);
    CHECK(code_of_decoding<std::vector<std::byte>>(
              payload().tag(wire_tag::bytes).number(n).seal()) == errc::corrupt);
    auto const list = payload().tag(wire_tag::list).number(n).seal();
    CHECK(code_of_decoding<std::vector<std::string>>(list) == errc::corrupt);
    CHECK(code_of_decoding<std::vector<bool>>(list) == errc::corrupt);
    CHECK(code_of_decoding<std::map<int, int>>(payload().tag(wire_tag::map).number(n).seal()) ==
          errc::corrupt);
    auto const packed = payload().tag(wire_tag::packed).number(hocket::dtype::f64).number(n).seal();
    CHECK(code_of_decoding<std::vector<double>>(packed) == errc::corrupt);
  }
}

TEST_CASE("bytes that no encoder writes are corrupt") {
  CHECK(code_of_decoding<bool>(payload().tag(wire_tag::boolean).number('\2').seal()) ==
        errc::corrupt);
  CHECK(code_of_decoding<bool>(payload().number('\0').seal()) == errc::corrupt);
  CHECK(code_of_decoding<bool>(payload().number('\xff').seal()) == errc::corrupt);
  for (auto const type : {hocket::dtype::boolean, hocket::dtype::bf16, hocket::dtype{200}})
    CHECK(code_of_decoding<std::vector<int>>(
              payload().tag(wire_tag::packed).number(type).number(std::uint64_t{0}).seal()) ==
          errc::corrupt);
  payload twice;
  twice.tag(wire_tag::map).number(std::uint64_t{2});
  for (int i = 0; i < 2; ++i) {
    twice.tag(wire_tag::i64).number(std::int64_t{4});
    twice.tag(wire_tag::boolean).number('\1');
  }
  CHECK(code_of_decoding<std::map<int, bool>>(twice.seal()) == errc::corrupt);
  CHECK(code_of_decoding<hocket::tensor>(
            payload().tag(wire_tag::tensor).number(std::uint64_t{0}).seal()) == errc::corrupt);
}

TEST_CASE("attached tensors are those that were encoded, in number, dtype and shape") {
  using hocket::shape;
  using hocket::tensor;
  std::vector<tensor> const two = {tensor::zeros(hocket::dtype::f32, shape(2, 3)),
                                   tensor::zeros(hocket::dtype::u8, shape(5))};
  auto p = encode_object(two);
  p.tensors.pop_back();
  CHECK(code_of_decoding<std::vector<tensor>>(p) == errc::mismatch);
  for (auto const& other :
       {tensor::zeros(hocket::dtype::i8, shape(5)), tensor::zeros(hocket::dtype::u8, shape(5, 1)),
        tensor::zeros(hocket::dtype::u8, shape(4)), tensor()}) {
    p.tensors = {two[0], other};
    CHECK(code_of_decoding<std::vector<tensor>>(p) == errc::mismatch);
  }
  p.tensors = {two[0], tensor::zeros(hocket::dtype::u8, shape(10)).slice(0, 5, 5)};
  CHECK(decode_object<std::vector<tensor>>(p)[1].same_object(p.tensors[1]));
}

TEST_CASE("the bytes of a parcel are a contiguous u8 tensor of one dimension") {
  hocket::parcel p;
  CHECK(code_of_decoding<int>(p) == errc::invalid_argument);
  p.bytes = hocket::tensor::zeros(hocket::dtype::i8, hocket::shape(64));
  CHECK(code_of_decoding<int>(p) == errc::invalid_argument);
  p.bytes = hocket::tensor::zeros(hocket::dtype::u8, hocket::shape(8, 8));
  CHECK(code_of_decoding<int>(p) == errc::invalid_argument);
}

TEST_CASE("64 levels are taken and 65 are not, by the sender and by the receiver") {
  auto const deep = chain(32);  // 32 structs and 32 lists
  auto const p = encode_object(deep);
  CHECK_NOTHROW((void)decode_object<tree>(p));
  CHECK(code_of([] { (void)encode_object(std::optional<tree>(chain(32))); }) == errc::too_large);
  auto const wide = hocket::object_limits().depth_max(65);
  auto const deeper = encode_object(std::optional<tree>(deep), wide);
  CHECK_NOTHROW((void)decode_object<std::optional<tree>>(deeper, wide));
  try {
    (void)decode_object<std::optional<tree>>(deeper);
    FAIL_CHECK("65 levels were taken");
  } catch (hocket::error const& e) {
    CHECK(e.code() == errc::too_large);
    CHECK(std::string(e.what()).find("65 levels of structs and containers at byte") !=
          std::string::npos);
    CHECK(std::string(e.what()).ends_with("at most 64 allowed"));
  }
}

TEST_CASE("an object of exactly the cap is taken and one byte more is not") {
  std::string const text(1000, 'x');
  auto const p = encode_object(text);
  auto const bytes = p.bytes.nbytes();
  CHECK(bytes == hocket::object_header_bytes + 1 + 8 + 1000);
  auto const enough = hocket::object_limits().bytes_max(bytes);
  auto const little = hocket::object_limits().bytes_max(bytes - 1);
  CHECK(decode_object<std::string>(encode_object(text, enough), enough) == text);
  CHECK(code_of([&] { (void)encode_object(text, little); }) == errc::too_large);
  CHECK(code_of([&] { (void)decode_object<std::string>(p, little); }) == errc::too_large);
  CHECK(code_of([&] { (void)encode_object(1, hocket::object_limits().bytes_max(3)); }) ==
        errc::too_large);
  try {
    (void)encode_object(text, little);
  } catch (hocket::error const& e) {
    CHECK(std::string(e.what()) == "object: 1041 bytes and more, at most 1040 allowed");
  }
}
