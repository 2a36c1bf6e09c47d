// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "grid_layout.hpp"

#include <algorithm>
#include <cmath>

namespace hocket::tools {
namespace {

constexpr int run_max = 16;            // a longer axis is folded into several runs
constexpr double aspect_wanted = 2.2;  // width by height

}  // namespace

grid_layout::grid_layout(rank_grid const& grid, map_style const& style)
    : grid_layout(grid, style, 0) {
  for (unsigned across = 1; levels_.size() > 1 && across < 1u << (levels_.size() - 1); ++across) {
    grid_layout other(grid, style, across);
    if (other.misfit() < misfit()) *this = std::move(other);
  }
}

grid_layout::grid_layout(rank_grid const& grid, map_style const& style, unsigned across)
    : style_(style), across_(across), extent_(style.cell) {
  for (auto a : grid.order().axes()) {
    int const size = grid.size_of(a);
    if (size == 1) continue;
    bool const innermost = levels_.empty();
    auto tile = extent_;
    if (!innermost) {
      tile.x += 2 * style.pad;
      tile.y += 2 * style.pad + style.label;
    }
    bool const to_the_right = innermost || (across >> (levels_.size() - 1) & 1u) != 0;
    int const run = std::min(size, run_max);
    int const runs = (size + run - 1) / run;
    int const columns = to_the_right ? run : runs;
    int const rows = to_the_right ? runs : run;
    levels_.push_back({a, to_the_right, columns, rows, tile});
    extent_ = {columns * (tile.x + style.gap) - style.gap, rows * (tile.y + style.gap) - style.gap};
  }
}

double grid_layout::misfit() const noexcept {
  return std::abs(std::log(extent_.x / extent_.y / aspect_wanted));
}

point grid_layout::tile_at(map_level const& level, int coordinate) const noexcept {
  int const column = level.across ? coordinate % level.columns : coordinate / level.rows;
  int const row = level.across ? coordinate / level.columns : coordinate % level.rows;
  return {column * (level.tile.x + style_.gap), row * (level.tile.y + style_.gap)};
}

}  // namespace hocket::tools
