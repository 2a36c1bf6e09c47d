// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "topo_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <hocket/error.hpp>
#include <string_view>

#include "grid_layout.hpp"
#include "svg_picture.hpp"

namespace hocket::tools {
namespace {

constexpr int ranks_max = 4096;
constexpr double margin = 24;
constexpr double panel_gap = 32;
constexpr double panel_title = 26;
constexpr double row_width_min = 1400;

constexpr map_style large_style{{46, 40}, 6, 8, 18};
constexpr map_style small_style{{32, 30}, 3, 3, 0};
constexpr double large_digit = 10.5;  // widths in the fonts of the ranks
constexpr double small_digit = 8;

// Fills on which black text is readable, neighbours far apart in hue.
constexpr std::array<char const*, 12> fills{"#8ecae6", "#ffd166", "#b5e48c", "#f4978e",
                                            "#cdb4db", "#ffb570", "#80ded9", "#f7aef8",
                                            "#d9d98c", "#a8b8f0", "#e6b89c", "#c4c4c4"};

constexpr std::string_view style_sheet =
    "text{fill:#1d2733}.title{font-size:20px;font-weight:bold}"
    ".note{font-size:13px;fill:#4a5765}.panel{font-size:14px;font-weight:bold}"
    ".box{font-size:11px;fill:#4a5765}"
    ".rank{font-size:15px;font-weight:bold;text-anchor:middle}"
    ".coord{font-size:9px;fill:#4a5765;text-anchor:middle}"
    ".small{font-size:11px;font-weight:bold;text-anchor:middle}"
    ".tag{font-size:8px;text-anchor:middle}";

std::string coordinate_text(rank_grid const& grid, int rank) {
  auto const place = grid.at(world_rank(rank));
  std::string text = fmt::format("rank {}:", rank);
  for (auto a : grid.order().axes()) text += fmt::format(" {} {}", name_of(a), place[a]);
  return text;
}

// Draws the tiles of `depth` levels, the outermost first; `draw_cell(at, rank, innermost)` draws a
// rank.
template <class DrawCell>
void draw_map(svg_picture& out, rank_grid const& grid, grid_layout const& layout, std::size_t depth,
              point at, int rank, DrawCell const& draw_cell) {
  if (depth == 0) return draw_cell(at, rank);
  auto const& style = layout.style();
  auto const& level = layout.levels()[depth - 1];
  for (int i = 0; i < grid.size_of(level.along); ++i) {
    auto const offset = layout.tile_at(level, i);
    point tile{at.x + offset.x, at.y + offset.y};
    if (depth > 1) {
      out.box(tile, level.tile, depth % 2 == 0 ? "#f3f6f9" : "#e6ecf2", "#9aa8b6", 5);
      if (style.label > 0)
        out.text({tile.x + style.pad, tile.y + style.pad + 8}, "box",
                 fmt::format("{} {}", name_of(level.along), i));
      tile = {tile.x + style.pad, tile.y + style.pad + style.label};
    }
    draw_map(out, grid, layout, depth - 1, tile, rank + i * grid.stride_of(level.along), draw_cell);
  }
}

// Cells wide enough for the longest rank.
map_style fitted(map_style style, double digit, rank_grid const& grid) {
  auto const digits = fmt::formatted_size("{}", grid.offset() + grid.size() - 1);
  style.cell.x = std::max(style.cell.x, static_cast<double>(digits) * digit + 6);
  return style;
}

void draw_ranks(svg_picture& out, rank_grid const& grid, grid_layout const& layout, point at) {
  auto const cell = [&](point where, int rank) {
    out.hint(coordinate_text(grid, rank));
    out.box(where, layout.style().cell, "#ffffff", "#45586b", 4);
    auto const middle = where.x + layout.style().cell.x / 2;
    out.text({middle, where.y + 20}, "rank", fmt::format("{}", rank));
    if (!layout.levels().empty()) {
      auto const a = layout.levels().front().along;
      out.text({middle, where.y + 33}, "coord",
               fmt::format("{} {}", name_of(a), grid.at(world_rank(rank))[a]));
    }
    out.end_hint();
  };
  draw_map(out, grid, layout, layout.levels().size(), at, grid.offset(), cell);
}

std::string count_text(rank_grid const& grid, named_set const& set) {
  int const size = grid.size_of(set.axes);
  int const count = grid.size() / size;
  return fmt::format("{}: {} group{} of {}", set.key, count, count == 1 ? "" : "s", size);
}

void draw_groups(svg_picture& out, rank_grid const& grid, grid_layout const& layout,
                 named_set const& set, point at) {
  auto const groups = grid.groups(set.axes);
  std::vector<std::size_t> group_of(static_cast<std::size_t>(grid.size()));
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (auto const rank : groups[i])
      group_of[static_cast<std::size_t>(rank.value() - grid.offset())] = i;
  out.text({at.x, at.y + 14}, "panel", count_text(grid, set));
  auto const cell = [&](point where, int rank) {
    auto const group = group_of[static_cast<std::size_t>(rank - grid.offset())];
    out.hint(fmt::format("{}, {} group {} = {}", coordinate_text(grid, rank), set.key, group,
                         to_string(groups[group])));
    out.box(where, layout.style().cell, fills[group % fills.size()], "#45586b", 3);
    auto const middle = where.x + layout.style().cell.x / 2;
    out.text({middle, where.y + 15}, "small", fmt::format("{}", rank));
    out.text({middle, where.y + 25}, "tag", fmt::format("g{}", group));
    out.end_hint();
  };
  draw_map(out, grid, layout, layout.levels().size(), {at.x, at.y + panel_title}, grid.offset(),
           cell);
}

std::string axes_text(rank_grid const& grid) {
  std::string text;
  for (auto a : grid.order().axes())
    if (grid.size_of(a) > 1)
      text += fmt::format("{}{} {} (stride {})", text.empty() ? "" : ", ", name_of(a),
                          grid.size_of(a), grid.stride_of(a));
  return text.empty() ? "all axes have size 1" : "axes, innermost first: " + text;
}

double draw_heading(svg_picture& out, rank_grid const& grid, bool any_groups) {
  out.text({margin, margin + 18}, "title",
           grid.size() == 1 ? fmt::format("1 rank: {}", grid.offset())
                            : fmt::format("{} ranks: {} to {}", grid.size(), grid.offset(),
                                          grid.offset() + grid.size() - 1));
  double y = margin + 42;
  out.text({margin, y}, "note", axes_text(grid));
  out.text({margin, y += 19}, "note",
           "A box holds the ranks that share the coordinate written on it; a cell is one rank.");
  if (any_groups)
    out.text({margin, y += 19}, "note",
             "Small maps, same places: cells of one colour and one g-number form a group.");
  return y + 20;
}

}  // namespace

std::string draw_topology(rank_grid const& grid, std::vector<named_set> const& sets) {
  if (grid.size() > ranks_max)
    throw error(errc::invalid_argument,
                fmt::format("a picture of {} ranks: at most {} are drawn", grid.size(), ranks_max));
  std::vector<named_set> drawn;
  std::string alone;
  for (auto const& set : sets) {
    if (grid.size_of(set.axes) > 1)
      drawn.push_back(set);
    else
      alone += (alone.empty() ? "" : ", ") + set.key;
  }
  svg_picture out;
  grid_layout const layout(grid, fitted(large_style, large_digit, grid));
  double y = draw_heading(out, grid, !drawn.empty());
  draw_ranks(out, grid, layout, {margin, y});
  y += layout.extent().y + panel_gap;
  grid_layout const panel(grid, fitted(small_style, small_digit, grid), layout.across());
  double const row_width = std::max(row_width_min, layout.extent().x);
  double const panel_width = std::max(panel.extent().x, 170.0);
  double x = margin;
  double right = std::max(margin + layout.extent().x, 620.0);
  for (auto const& set : drawn) {
    if (x > margin && x + panel_width > margin + row_width) {
      x = margin;
      y += panel_title + panel.extent().y + panel_gap;
    }
    draw_groups(out, grid, panel, set, {x, y});
    right = std::max(right, x + panel_width);
    x += panel_width + panel_gap;
  }
  if (!drawn.empty()) y += panel_title + panel.extent().y + panel_gap;
  if (!alone.empty()) {
    out.text({margin, y}, "note", fmt::format("{}: each rank is a group of its own", alone));
    y += 20;
  }
  return out.finish({right + margin, y}, style_sheet);
}

}  // namespace hocket::tools
