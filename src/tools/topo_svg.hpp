// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/topology/rank_grid.hpp>
#include <string>
#include <vector>

#include "named_set.hpp"

namespace hocket::tools {

/// A picture of a grid: one large map of all ranks, its boxes named after their coordinates, and
/// for each set of axes a small copy of the map, coloured by group. A grid of more than 4,096
/// ranks is `errc::invalid_argument`: nobody could read it.
[[nodiscard]] std::string draw_topology(rank_grid const& grid, std::vector<named_set> const& sets);

}  // namespace hocket::tools
