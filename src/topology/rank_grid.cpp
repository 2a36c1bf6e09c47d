// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <hocket/error.hpp>
#include <hocket/topology/rank_grid.hpp>
#include <limits>

namespace hocket {
namespace {

[[noreturn]] void refuse(std::string story) {
  throw error(errc::invalid_argument, std::move(story));
}

// "tp 2 * cp 3 * pp 1 (order tp-cp-pp)": what the caller asked for.
std::string product_text(axis_sizes const& sizes, order const& order) {
  std::string out;
  for (auto a : order.axes()) {
    if (!order.names(a)) continue;
    if (!out.empty()) out += " * ";
    out += sizes[a] == derive ? fmt::format("{} (derived)", name_of(a))
                              : fmt::format("{} {}", name_of(a), sizes[a]);
  }
  return out + fmt::format(" (order {})", order.text());
}

void check_sizes(axis_sizes const& sizes, order const& order) {
  int derived = 0;
  for (auto a : all_axes) {
    int const size = sizes[a];
    if (size == derive) {
      if (++derived > 1)
        refuse("only one axis can be derived from the world: " + product_text(sizes, order));
      continue;
    }
    if (size < 1)
      refuse(fmt::format("{} {} is below 1: {}", name_of(a), size, product_text(sizes, order)));
    if (size > 1 && !order.names(a))
      refuse(fmt::format("{} {}, but the order {} does not name {}", name_of(a), size, order.text(),
                         name_of(a)));
  }
}

// The sizes with the derived one filled in. An axis that the order leaves out is 1 by definition.
axis_sizes complete(int world, axis_sizes sizes, order const& order) {
  auto derived = std::ranges::find_if(all_axes, [&](axis a) { return sizes[a] == derive; });
  if (derived != all_axes.end() && !order.names(*derived)) {
    sizes[*derived] = 1;
    derived = all_axes.end();
  }
  std::int64_t product = 1;
  for (auto a : all_axes) {
    if (sizes[a] == derive) continue;
    if (product > std::numeric_limits<std::int64_t>::max() / sizes[a])
      refuse(
          fmt::format("world {} != {}, a product above 2^63", world, product_text(sizes, order)));
    product *= sizes[a];
  }
  if (derived == all_axes.end()) {
    if (product != world)
      refuse(fmt::format("world {} != {}, product {}", world, product_text(sizes, order), product));
    return sizes;
  }
  if (world % product != 0)
    refuse(fmt::format("world {} != {}, product {} without {}: {} % {} = {}", world,
                       product_text(sizes, order), product, name_of(*derived), world, product,
                       world % product));
  sizes[*derived] = static_cast<int>(world / product);
  return sizes;
}

}  // namespace

rank_grid::rank_grid(int world, axis_sizes sizes, hocket::order order, int offset)
    : world_(world), offset_(offset), order_(order) {
  check_sizes(sizes, order);
  if (world < 1) refuse(fmt::format("world {} is below 1: {}", world, product_text(sizes, order)));
  if (offset < 0) refuse(fmt::format("offset {} of a world of {} is negative", offset, world));
  if (offset > std::numeric_limits<int>::max() - world)
    refuse(fmt::format("offset {} + world {} is above {}", offset, world,
                       std::numeric_limits<int>::max()));
  sizes_ = complete(world, sizes, order);
  int stride = 1;
  for (auto a : order_.axes()) {
    strides_[index(a)] = stride;
    stride *= sizes_[a];
  }
}

int rank_grid::size_of(axis_set axes) const noexcept {
  int size = 1;
  for (auto a : all_axes)
    if (axes.contains(a)) size *= sizes_[a];
  return size;
}

coordinate rank_grid::at(world_rank rank) const {
  if (!contains(rank))
    refuse(fmt::format("rank {} is outside the grid of ranks {} to {}", rank.value(), offset_,
                       offset_ + world_ - 1));
  auto rest = static_cast<unsigned>(rank.value() - offset_);
  std::array<int, axis_count> along{};
  for (auto a : order_.axes()) {
    auto const size = static_cast<unsigned>(sizes_[a]);
    if (size == 1) continue;
    along[index(a)] = static_cast<int>(rest % size);
    rest /= size;
  }
  return {along[index(axis::tp)], along[index(axis::cp)], along[index(axis::ep)],
          along[index(axis::dp)], along[index(axis::pp)]};
}

world_rank rank_grid::at(coordinate const& place) const {
  int rank = offset_;
  for (auto a : all_axes) {
    if (place[a] < 0 || place[a] >= sizes_[a])
      refuse(fmt::format("{} {} is outside an axis of {}", name_of(a), place[a], sizes_[a]));
    rank += place[a] * strides_[index(a)];
  }
  return world_rank(rank);
}

rank_group rank_grid::group_from(int first, axis_set axes) const noexcept {
  rank_group group;
  group.first_ = first;
  group.count_ = 1;
  for (auto a : order_.axes())
    if (axes.contains(a)) group.add_step(sizes_[a], strides_[index(a)]);
  return group;
}

rank_group rank_grid::group_of(world_rank rank, axis_set axes) const {
  auto const place = at(rank);
  int first = rank.value();
  for (auto a : all_axes)
    if (axes.contains(a)) first -= place[a] * strides_[index(a)];
  return group_from(first, axes);
}

std::vector<rank_group> rank_grid::groups(axis_set axes) const {
  axis_set others;
  for (auto a : all_axes)
    if (!axes.contains(a)) others = others.with(a);
  std::vector<rank_group> all;
  all.reserve(static_cast<std::size_t>(size_of(others)));
  auto const shape = group_from(0, axes);
  for (auto const first : group_from(offset_, others)) {
    all.push_back(shape);
    all.back().first_ = first.value();
  }
  return all;
}

}  // namespace hocket
