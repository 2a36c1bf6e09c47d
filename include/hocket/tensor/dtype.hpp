// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <hocket/tensor/half.hpp>
#include <string_view>

namespace hocket {

/// Element types. The values travel between ranks: append, never renumber.
enum class dtype : std::uint8_t {
  boolean,
  u8,
  i8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  f16,
  bf16,
  f32,
  f64,
  c64,   ///< two f32
  c128,  ///< two f64
  f8e4m3,
  f8e5m2,
};

/// How many dtypes there are; they are numbered from 0.
inline constexpr int dtype_count = 17;

/// Bytes of one element.
[[nodiscard]] constexpr std::size_t size_of(dtype t) noexcept {
  constexpr std::uint8_t sizes[dtype_count] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 8, 16, 1, 1};
  return sizes[static_cast<std::size_t>(t)];
}

/// "bool", "u8", "f32", "f8e4m3".
[[nodiscard]] std::string_view name_of(dtype t) noexcept;

/// The dtype of that name; errc::invalid_argument lists the known ones.
[[nodiscard]] dtype parse_dtype(std::string_view name);

/// Whether a byte read from elsewhere is a dtype.
[[nodiscard]] constexpr bool is_dtype(std::uint8_t value) noexcept { return value < dtype_count; }

namespace detail {
template <class T>
struct dtype_of;  // no member for a type that is no element type

#define HOCKET_DTYPE(type, name)                \
  template <>                                   \
  struct dtype_of<type> {                       \
    static constexpr dtype value = dtype::name; \
  }
HOCKET_DTYPE(bool, boolean);
HOCKET_DTYPE(std::uint8_t, u8);
HOCKET_DTYPE(std::int8_t, i8);
HOCKET_DTYPE(std::int16_t, i16);
HOCKET_DTYPE(std::uint16_t, u16);
HOCKET_DTYPE(std::int32_t, i32);
HOCKET_DTYPE(std::uint32_t, u32);
HOCKET_DTYPE(long, i64);
HOCKET_DTYPE(long long, i64);
HOCKET_DTYPE(unsigned long, u64);
HOCKET_DTYPE(unsigned long long, u64);
HOCKET_DTYPE(float16, f16);
HOCKET_DTYPE(bfloat16, bf16);
HOCKET_DTYPE(float, f32);
HOCKET_DTYPE(double, f64);
HOCKET_DTYPE(std::complex<float>, c64);
HOCKET_DTYPE(std::complex<double>, c128);
HOCKET_DTYPE(float8_e4m3, f8e4m3);
HOCKET_DTYPE(float8_e5m2, f8e5m2);
#undef HOCKET_DTYPE
}  // namespace detail

/// A C++ type that is the element of some dtype.
template <class T>
concept element = requires {
  detail::dtype_of<T>::value;
};

template <element T>
/// The dtype of a C++ type.
inline constexpr dtype dtype_of = detail::dtype_of<T>::value;

}  // namespace hocket
