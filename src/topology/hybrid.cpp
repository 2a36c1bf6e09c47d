// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <hocket/error.hpp>
#include <hocket/topology/hybrid.hpp>

namespace hocket {

std::vector<int> hybrid_sizes(rank_group const& whole) {
  if (whole.empty() || whole.size() % 2 != 0)
    throw error(errc::invalid_argument,
                fmt::format("hybrid context parallelism needs an even number of ranks, not {}",
                            whole.size()));
  auto const largest = static_cast<int>(std::bit_floor(static_cast<unsigned>(whole.size())));
  std::vector<int> sizes;
  for (int size = 2; size < largest && whole.size() % size == 0; size *= 2) sizes.push_back(size);
  return sizes;
}

std::vector<rank_group> hybrid_groups(rank_group const& whole, int size) {
  auto const sizes = hybrid_sizes(whole);
  if (size == whole.size()) return {whole};
  if (std::ranges::find(sizes, size) == sizes.end())
    throw error(errc::invalid_argument,
                fmt::format("a hybrid size of {} in a group of {}: sizes are powers of two that "
                            "divide it, from 2 to {}",
                            size, whole.size(), sizes.empty() ? whole.size() : sizes.back()));
  std::vector<rank_group> groups;
  for (int first = 0; first < whole.size(); first += size)
    groups.push_back(whole.slice(group_rank(first), size));
  return groups;
}

}  // namespace hocket
