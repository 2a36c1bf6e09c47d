// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <bit>
#include <cstddef>

namespace hocket::size_class {

// Four sizes for each doubling, from 1 KiB on: at most a quarter of a block is spare.
inline constexpr std::size_t first_log2 = 10;
inline constexpr std::size_t last_log2 = 47;
inline constexpr std::size_t count = 4 * (last_log2 - first_log2) + 1;
inline constexpr std::size_t bytes_max = std::size_t{1} << last_log2;

constexpr std::size_t bytes(std::size_t index) noexcept {
  return (4 + index % 4) << (first_log2 - 2 + index / 4);
}

/// The smallest class that holds `wanted`, which is at most bytes_max.
constexpr std::size_t index(std::size_t wanted) noexcept {
  if (wanted <= bytes(0)) return 0;
  auto const log2 = static_cast<std::size_t>(std::bit_width(wanted - 1)) - 1;
  auto const quarter = ((wanted - 1) >> (log2 - 2)) & 3U;
  return 4 * (log2 - first_log2) + quarter + 1;
}

static_assert(index(1024) == 0 && index(1025) == 1 && bytes(1) == 1280);
static_assert(bytes(index(2047)) == 2048 && bytes(index(2048)) == 2048 &&
              bytes(index(2049)) == 2560);
static_assert(index(bytes_max) == count - 1 && bytes(count - 1) == bytes_max);

}  // namespace hocket::size_class
