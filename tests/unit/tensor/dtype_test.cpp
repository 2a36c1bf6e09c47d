// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <cmath>
#include <cstring>
#include <hocket/tensor/dtype.hpp>
#include <limits>
#include <string>

#include "expect_error.hpp"

using namespace hocket;

TEST_CASE("every dtype has a size and a name that parses back") {
  std::size_t bytes = 0;
  for (int i = 0; i < dtype_count; ++i) {
    auto const t = static_cast<dtype>(i);
    CHECK(parse_dtype(name_of(t)) == t);
    bytes += size_of(t);
  }
  CHECK(bytes == 3 + 4 + 8 + 16 + 4 + 12 + 24 + 2);
  CHECK(name_of(dtype::boolean) == "bool");
  CHECK(size_of(dtype::c128) == 16);
  CHECK(dtype_of<std::complex<float>> == dtype::c64);
  CHECK(dtype_of<long long> == dtype::i64);
  CHECK_FALSE(element<char*>);
  CHECK_FALSE(is_dtype(17));
}

TEST_CASE("an unknown dtype name is an error that lists the known ones") {
  expect_error(errc::invalid_argument,
               "no dtype \"float32\": there are bool, u8, i8, i16, u16, i32, u32, i64, u64, f16, "
               "bf16, f32, f64, c64, c128, f8e4m3, f8e5m2",
               [] { (void)parse_dtype("float32"); });
}

TEST_CASE("every small float survives the way to float and back") {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    auto const h = float16::from_bits(static_cast<std::uint16_t>(i));
    auto const b = bfloat16::from_bits(static_cast<std::uint16_t>(i));
    auto const h_back = float16(static_cast<float>(h)).bits;
    auto const b_back = bfloat16(static_cast<float>(b)).bits;
    bool const h_nan = std::isnan(static_cast<float>(h));
    bool const b_nan = std::isnan(static_cast<float>(b));
    if (h_back != (h_nan ? i | 0x200U : i)) FAIL("f16 ", i, " became ", h_back);
    if (b_back != (b_nan ? i | 0x40U : i)) FAIL("bf16 ", i, " became ", b_back);
  }
  for (std::uint32_t i = 0; i < 256; ++i) {
    auto const a = float8_e4m3::from_bits(static_cast<std::uint8_t>(i));
    auto const b = float8_e5m2::from_bits(static_cast<std::uint8_t>(i));
    bool const b_nan = std::isnan(static_cast<float>(b));
    CHECK(float8_e4m3(static_cast<float>(a)).bits == i);
    CHECK(float8_e5m2(static_cast<float>(b)).bits == (b_nan ? i | 2U : i));
  }
}

// Rounds by search: the nearest of all values of the type, the even one of two.
template <class Small, class Bits>
Bits nearest(float value, Bits largest) {
  Bits low = 0;
  Bits high = largest;
  double const v = std::fabs(static_cast<double>(value));
  while (low < high) {
    auto const middle = static_cast<Bits>(low + (high - low + 1) / 2);
    if (static_cast<double>(static_cast<float>(Small::from_bits(middle))) <= v)
      low = middle;
    else
      high = static_cast<Bits>(middle - 1);
  }
  if (low == largest) return low;
  auto const next = static_cast<Bits>(low + 1);
  double const down = v - static_cast<double>(static_cast<float>(Small::from_bits(low)));
  double const up = static_cast<double>(static_cast<float>(Small::from_bits(next))) - v;
  if (down != up) return down < up ? low : next;
  return low % 2 == 0 ? low : next;
}

TEST_CASE("conversions from float round to the nearest value, ties to even") {
  for (std::uint32_t i = 0; i < 0x7f800000U; i += 4093) {
    auto const value = std::bit_cast<float>(i);
    auto const negative = -value;
    if (value < 65504.F) {
      auto const expected = nearest<float16, std::uint16_t>(value, 0x7bff);
      REQUIRE(float16(value).bits == expected);
      REQUIRE(float16(negative).bits == (expected | 0x8000U));
    }
    if (value < 448.F)
      REQUIRE(float8_e4m3(value).bits == nearest<float8_e4m3, std::uint8_t>(value, 0x7e));
    if (value < 57344.F)
      REQUIRE(float8_e5m2(value).bits == nearest<float8_e5m2, std::uint8_t>(value, 0x7b));
    if (value < 3e38F)
      REQUIRE(bfloat16(value).bits == nearest<bfloat16, std::uint16_t>(value, 0x7f7f));
  }
}

TEST_CASE("ties, the smallest and the largest small floats are as the formats say") {
  CHECK(float16(1.F + 1.F / 2048).bits == 0x3c00);  // halfway, down to even
  CHECK(float16(1.F + 3.F / 2048).bits == 0x3c02);  // halfway, up to even
  CHECK(float16(65519.F).bits == 0x7bff);
  CHECK(float16(65520.F).bits == 0x7c00);  // infinity
  CHECK(float16(std::ldexp(1.F, -25)).bits == 0);
  CHECK(float16(std::nextafter(std::ldexp(1.F, -25), 1.F)).bits == 1);
  CHECK(float16(-0.F).bits == 0x8000);
  CHECK(float16(std::numeric_limits<float>::infinity()).bits == 0x7c00);
  CHECK(bfloat16(std::numeric_limits<float>::max()).bits == 0x7f80);
  CHECK(bfloat16(std::bit_cast<float>(0x3f808000U)).bits == 0x3f80);
  CHECK(bfloat16(std::bit_cast<float>(0x3f818000U)).bits == 0x3f82);
  CHECK(static_cast<float>(float8_e4m3::from_bits(0x7e)) == 448.F);
  CHECK(float8_e4m3(464.F).bits == 0x7e);
  CHECK(float8_e4m3(465.F).bits == 0x7f);  // no infinity: NaN
  CHECK(float8_e5m2(61440.F).bits == 0x7c);
  CHECK(static_cast<float>(float8_e4m3::from_bits(1)) == std::ldexp(1.F, -9));
}
