// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace hocket {
namespace detail {

/// Moves `value` right by `shift` bits (0 < shift < 32), rounding to nearest, ties to even.
constexpr std::uint32_t shift_rounded(std::uint32_t value, int shift) noexcept {
  std::uint32_t const half = std::uint32_t{1} << (shift - 1);
  std::uint32_t const odd = (value >> shift) & 1U;
  return (value + half - 1U + odd) >> shift;
}

/// A float of 16 bits or less with `Exponent` (at most 5) and `Mantissa` bits. With `FiniteOnly`
/// there are no infinities and the only NaN is all ones, as in OCP's e4m3: overflow gives NaN.
template <int Exponent, int Mantissa, bool FiniteOnly = false>
struct small_float {
  static constexpr int bias = (1 << (Exponent - 1)) - 1;
  static constexpr int drop = 23 - Mantissa;
  static constexpr std::uint32_t exponent_ones = (1U << Exponent) - 1U;
  static constexpr std::uint32_t infinity = exponent_ones << Mantissa;
  static constexpr std::uint32_t all_ones = (1U << (Exponent + Mantissa)) - 1U;

  static constexpr std::uint32_t encode(float value) noexcept {
    auto const bits = std::bit_cast<std::uint32_t>(value);
    std::uint32_t const sign = (bits >> 31) << (Exponent + Mantissa);
    std::uint32_t const magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U) {
      if constexpr (FiniteOnly) return sign | all_ones;
      std::uint32_t const quiet = 1U << (Mantissa - 1);
      return sign | infinity | quiet | ((magnitude & 0x7fffffU) >> drop);
    }
    int const exponent = static_cast<int>(magnitude >> 23) - 127 + bias;
    std::uint32_t encoded = 0;
    if (exponent >= 1) {
      auto const rebased = (static_cast<std::uint32_t>(exponent) << 23) | (magnitude & 0x7fffffU);
      encoded = shift_rounded(rebased, drop);
    } else if (drop + 1 - exponent <= 25) {
      encoded = shift_rounded((magnitude & 0x7fffffU) | 0x800000U, drop + 1 - exponent);
    }
    if constexpr (FiniteOnly) return sign | (encoded < all_ones ? encoded : all_ones);
    return sign | (encoded < infinity ? encoded : infinity);
  }

  static constexpr float decode(std::uint32_t value) noexcept {
    std::uint32_t const sign = (value >> (Exponent + Mantissa)) << 31;
    std::uint32_t const exponent = (value >> Mantissa) & exponent_ones;
    std::uint32_t const mantissa = value & ((1U << Mantissa) - 1U);
    if (FiniteOnly ? (value & all_ones) == all_ones : exponent == exponent_ones) {
      return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << drop));
    }
    if (exponent == 0) {
      auto const unit = static_cast<std::uint32_t>(127 + 1 - bias - Mantissa) << 23;
      float const magnitude = static_cast<float>(mantissa) * std::bit_cast<float>(unit);
      return sign != 0 ? -magnitude : magnitude;
    }
    auto const rebased = exponent + static_cast<std::uint32_t>(127 - bias);
    return std::bit_cast<float>(sign | (rebased << 23) | (mantissa << drop));
  }
};

}  // namespace detail

/// IEEE binary16. Conversion from float rounds to nearest, ties to even; NaNs become quiet.
struct float16 {
  /// As they stand in a tensor.
  std::uint16_t bits = 0;

  constexpr float16() = default;
  /// Rounds to nearest, ties to even. Overflow becomes infinity.
  explicit constexpr float16(float value) noexcept
      : bits(static_cast<std::uint16_t>(detail::small_float<5, 10>::encode(value))) {}
  /// Exact.
  explicit constexpr operator float() const noexcept {
    return detail::small_float<5, 10>::decode(bits);
  }
  /// The number that these bits are; any are valid.
  static constexpr float16 from_bits(std::uint16_t b) noexcept {
    float16 f;
    f.bits = b;
    return f;
  }
};

/// The upper half of a binary32. Conversion from float rounds to nearest, ties to even.
struct bfloat16 {
  /// As they stand in a tensor.
  std::uint16_t bits = 0;

  constexpr bfloat16() = default;
  /// Rounds to nearest, ties to even. Overflow becomes infinity; NaNs stay NaNs.
  explicit constexpr bfloat16(float value) noexcept {
    auto const b = std::bit_cast<std::uint32_t>(value);
    bool const is_nan = (b & 0x7fffffffU) > 0x7f800000U;
    bits = static_cast<std::uint16_t>(is_nan ? (b >> 16) | 0x40U
                                             : (b + 0x7fffU + ((b >> 16) & 1U)) >> 16);
  }
  /// Exact.
  explicit constexpr operator float() const noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  /// The number that these bits are; any are valid.
  static constexpr bfloat16 from_bits(std::uint16_t b) noexcept {
    bfloat16 f;
    f.bits = b;
    return f;
  }
};

/// OCP's 8-bit float with 4 exponent bits: no infinity, largest value 448, overflow gives NaN.
struct float8_e4m3 {
  /// As they stand in a tensor.
  std::uint8_t bits = 0;

  constexpr float8_e4m3() = default;
  /// Rounds to nearest, ties to even. Overflow becomes NaN.
  explicit constexpr float8_e4m3(float value) noexcept
      : bits(static_cast<std::uint8_t>(detail::small_float<4, 3, true>::encode(value))) {}
  /// Exact.
  explicit constexpr operator float() const noexcept {
    return detail::small_float<4, 3, true>::decode(bits);
  }
  /// The number that these bits are; any are valid.
  static constexpr float8_e4m3 from_bits(std::uint8_t b) noexcept {
    float8_e4m3 f;
    f.bits = b;
    return f;
  }
};

/// OCP's 8-bit float with 5 exponent bits: the upper half of a binary16.
struct float8_e5m2 {
  /// As they stand in a tensor.
  std::uint8_t bits = 0;

  constexpr float8_e5m2() = default;
  /// Rounds to nearest, ties to even. Overflow becomes infinity.
  explicit constexpr float8_e5m2(float value) noexcept
      : bits(static_cast<std::uint8_t>(detail::small_float<5, 2>::encode(value))) {}
  /// Exact.
  explicit constexpr operator float() const noexcept {
    return detail::small_float<5, 2>::decode(bits);
  }
  /// The number that these bits are; any are valid.
  static constexpr float8_e5m2 from_bits(std::uint8_t b) noexcept {
    float8_e5m2 f;
    f.bits = b;
    return f;
  }
};

}  // namespace hocket
