// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <cstdint>

namespace hocket::algorithm {

/// A run of elements.
struct slice {
  std::int64_t start = 0;
  std::int64_t length = 0;
  friend bool operator==(slice const&, slice const&) = default;
};

/// Slices begin at multiples of so many bytes from the first element: no two ranks write to one
/// line of the cache.
inline constexpr std::size_t slice_alignment = 64;

/// The share of `rank` when `count` elements of `element_bytes` (a power of two) are cut into one
/// slice for each of `ranks`: in rank order, without gaps, equal but for rounding; the last ones
/// may be shorter or empty.
[[nodiscard]] slice slice_of(std::int64_t count, std::size_t element_bytes, int ranks,
                             int rank) noexcept;

/// Whether a reduction of so many bytes on each rank goes in two phases: every rank reduces one
/// slice of all inputs, then the slices are fetched from those who reduced them. Each rank then
/// moves 2 (n - 1) / n times the bytes, and not n - 1 times, for one more exchange of notices.
[[nodiscard]] bool reduces_in_slices(std::size_t bytes, int ranks) noexcept;

/// How many elements are read from each of `givers` before they are reduced: what is read is still
/// in the second-level cache then.
[[nodiscard]] std::int64_t elements_a_block(std::size_t element_bytes, int givers) noexcept;

}  // namespace hocket::algorithm
