// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <cstdint>
#include <hocket/error.hpp>
#include <hocket/topology/hierarchical.hpp>

namespace hocket {
namespace {

void check(rank_group const& whole, std::span<int const> sizes) {
  std::int64_t product = 1;
  std::string text;
  bool good = !sizes.empty();
  for (int size : sizes) {
    text += fmt::format("{}{}", text.empty() ? "" : " * ", size);
    good = good && size >= 1;
    if (good) product *= size;
    good = good && product <= whole.size();
  }
  if (!good || product != whole.size())
    throw error(errc::invalid_argument, fmt::format("levels {} do not make up a group of {}",
                                                    text.empty() ? "(none)" : text, whole.size()));
}

// Ranks between two neighbours of a level.
int stride_of(std::span<int const> sizes, int level) {
  int stride = 1;
  for (int size : sizes.first(static_cast<std::size_t>(level))) stride *= size;
  return stride;
}

}  // namespace

std::vector<rank_group> hierarchical_groups(rank_group const& whole, std::span<int const> sizes,
                                            int level) {
  check(whole, sizes);
  if (level < 0 || level >= static_cast<int>(sizes.size()))
    throw error(errc::invalid_argument, fmt::format("level {} of {} levels", level, sizes.size()));
  int const size = sizes[static_cast<std::size_t>(level)];
  int const stride = stride_of(sizes, level);
  std::vector<rank_group> groups;
  groups.reserve(static_cast<std::size_t>(whole.size() / size));
  for (int outer = 0; outer < whole.size(); outer += size * stride)
    for (int inner = 0; inner < stride; ++inner)
      groups.push_back(whole.slice(group_rank(outer + inner), size, stride));
  return groups;
}

std::vector<rank_group> hierarchical_groups_of(world_rank rank, rank_group const& whole,
                                               std::span<int const> sizes) {
  check(whole, sizes);
  auto const place = whole.group_rank_of(rank);
  if (!place)
    throw error(errc::not_a_member,
                fmt::format("rank {} is not in {}", rank.value(), to_string(whole)));
  std::vector<rank_group> groups;
  for (int level = 0; level < static_cast<int>(sizes.size()); ++level) {
    int const size = sizes[static_cast<std::size_t>(level)];
    int const stride = stride_of(sizes, level);
    int const coordinate = place->value() / stride % size;
    groups.push_back(whole.slice(group_rank(place->value() - coordinate * stride), size, stride));
  }
  return groups;
}

}  // namespace hocket
