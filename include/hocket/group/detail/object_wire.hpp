// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace hocket::detail {

static_assert(std::endian::native == std::endian::little,
              "objects and tensors travel as they lie in little-endian memory");

/// The first byte of every value. The numbers travel: append, never renumber.
enum class wire_tag : std::uint8_t {
  unit = 1,  ///< nothing follows
  boolean,   ///< u8, 0 or 1
  i64,
  u64,
  f32,
  f64,
  string,     ///< u64 length, bytes
  bytes,      ///< u64 length, bytes
  list,       ///< u64 count, values
  packed,     ///< u8 dtype, u64 count, elements without tags
  tuple,      ///< u64 count, values
  map,        ///< u64 count, keys and values in turn
  none,       ///< an empty optional
  some,       ///< the value
  variant,    ///< u64 index, the value
  structure,  ///< u32 version; per field u8 length, name, value; u8 0
  tensor,     ///< u64 index into the attached tensors
  no_tensor,  ///< an undefined tensor
};

/// An integer of up to 64 bits of either sign, in two's complement.
struct wide_integer {
  std::uint64_t bits;
  bool negative;
};

template <std::integral T>
[[nodiscard]] constexpr bool fits(wide_integer n) noexcept {
  if (!n.negative) return n.bits <= static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  return std::is_signed_v<T> && static_cast<std::int64_t>(n.bits) >=
                                    static_cast<std::int64_t>(std::numeric_limits<T>::min());
}

template <class T>
requires std::is_trivially_copyable_v<T>
void store(std::byte* to, T value) noexcept { std::memcpy(to, &value, sizeof value); }

template <class T>
requires std::is_trivially_copyable_v<T>
[[nodiscard]] T load(std::byte const* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace hocket::detail
