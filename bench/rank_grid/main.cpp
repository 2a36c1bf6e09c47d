// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// How long does a rank need to know its groups? Yardstick: the lists themselves, made by the
// obvious loop over all ranks.
#include <hocket/topology/rank_grid.hpp>
#include <map>
#include <vector>

#include "../support/rounds.hpp"

using namespace hocket;

namespace {

axis_sizes sizes_of(int world) {
  axis_sizes s;
  s.tp = 8;
  s.cp = 4;
  s.pp = 16;
  s.dp = world / (8 * 4 * 16);
  return s;
}

// All groups along one axis, by sorting every rank into the group of its other coordinates.
std::size_t lists_by_loop(rank_grid const& grid, axis a) {
  std::map<std::vector<int>, std::vector<int>> groups;
  for (int r = 0; r < grid.size(); ++r) {
    auto const place = grid.at(world_rank(r));
    std::vector<int> key;
    for (axis const other : all_axes)
      if (other != a) key.push_back(place[other]);
    groups[key].push_back(r);
  }
  return groups.size();
}

void measure(int world) {
  rank_grid const grid(world, sizes_of(world));
  bench::competitors c;
  c.add("yardstick: the lists of one axis, by a loop", 1,
        [&] { bench::keep(lists_by_loop(grid, axis::cp)); });
  c.add("hocket: a grid made", 1000, [&] {
    for (int i = 0; i < 1000; ++i) bench::keep(rank_grid(world, sizes_of(world)));
  });
  c.add("hocket: one rank's groups of all five axes", 1000, [&] {
    for (int i = 0; i < 1000; ++i)
      for (axis const a : all_axes) bench::keep(grid.group_of(world_rank(i), a));
  });
  c.add("hocket: all groups of all five axes", 1, [&] {
    for (axis const a : all_axes) bench::keep(grid.groups(a));
  });
  c.add("hocket: one coordinate", 100000, [&] {
    for (int i = 0; i < 100000; ++i) bench::keep(grid.at(world_rank(i % world)));
  });
  std::printf("sizeof(rank_grid) = %zu B, ", sizeof(rank_grid));
  c.print((std::to_string(world) + " ranks").c_str());
}

}  // namespace

int main() {
  measure(1 << 16);
  measure(1 << 20);
}
