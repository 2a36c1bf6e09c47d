// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/topology/rank_grid.hpp>
#include <vector>

#include "svg_picture.hpp"

namespace hocket::tools {

/// Measures of a map of ranks, in pixels.
struct map_style {
  point cell;    ///< the extents of one rank
  double gap;    ///< between neighbours
  double pad;    ///< between a box and what it holds
  double label;  ///< the strip at a box's top that carries its name
};

/// One axis of more than one rank: how its coordinates are tiled, and the extents of one tile.
struct map_level {
  axis along;
  bool across;  ///< coordinates run to the right first, else downwards
  int columns;
  int rows;
  point tile;
};

/// Nested boxes: tiles of the innermost axis are ranks, each further axis tiles the whole of what
/// is inside it. Of all choices of directions, the one that makes the map fit a screen best.
class grid_layout {
 public:
  grid_layout(rank_grid const& grid, map_style const& style);

  /// With given directions: bit i is set if level i + 1 runs across. The innermost always does.
  grid_layout(rank_grid const& grid, map_style const& style, unsigned across);
  [[nodiscard]] unsigned across() const noexcept { return across_; }

  [[nodiscard]] map_style const& style() const noexcept { return style_; }
  /// Axes of more than one rank, the innermost first.
  [[nodiscard]] std::vector<map_level> const& levels() const noexcept { return levels_; }
  [[nodiscard]] point extent() const noexcept { return extent_; }
  /// Where the tile of a coordinate begins inside its level.
  [[nodiscard]] point tile_at(map_level const& level, int coordinate) const noexcept;

 private:
  [[nodiscard]] double misfit() const noexcept;

  map_style style_;
  unsigned across_;
  std::vector<map_level> levels_;
  point extent_;
};

}  // namespace hocket::tools
