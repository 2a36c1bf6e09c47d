// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "slices.hpp"

#include <algorithm>

namespace hocket::algorithm {
namespace {

// Below, one more exchange of notices costs more than reading everything.
constexpr std::size_t whole_bytes_max = 128 * 1024;
// Of all givers together; one block is no smaller than makes a system call worth while.
constexpr std::size_t block_bytes_all = 256 * 1024;
constexpr std::size_t block_bytes_min = 64 * 1024;

}  // namespace

slice slice_of(std::int64_t count, std::size_t element_bytes, int ranks, int rank) noexcept {
  auto const grain =
      std::max<std::int64_t>(static_cast<std::int64_t>(slice_alignment / element_bytes), 1);
  auto const grains = (count + grain - 1) / grain;
  auto const each = (grains + ranks - 1) / ranks * grain;
  auto const start = std::min(count, each * rank);
  return {start, std::min(count, start + each) - start};
}

bool reduces_in_slices(std::size_t bytes, int ranks) noexcept {
  return ranks > 1 && bytes > whole_bytes_max;
}

std::int64_t elements_a_block(std::size_t element_bytes, int givers) noexcept {
  auto const bytes =
      std::max(block_bytes_all / static_cast<std::size_t>(std::max(givers, 1)), block_bytes_min);
  return static_cast<std::int64_t>(bytes / element_bytes);
}

}  // namespace hocket::algorithm
