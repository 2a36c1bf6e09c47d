// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/topology/rank_grid.hpp>
#include <optional>

namespace hocket {

/// What a model with experts asks for. Expert parallelism exists if either is set.
struct expert_sizes {
  std::optional<int> ep;   ///< ranks that share the experts of a layer; 1 if only `etp` is set
  std::optional<int> etp;  ///< ranks that share one expert; the dense `tp` if only `ep` is set
};

/// The ranks of a dense grid, tiled a second time for the layers with experts: etp and ep take
/// the place of tp and cp, and what is left of the world is expert data parallelism (edp).
/// The order is the dense one, with etp and edp where tp and dp stand. Pipeline stages are the
/// same in both.
class expert_view {
 public:
  /// `errc::invalid_argument` if a size is below 1, etp * ep * pp does not divide the world, the
  /// dense grid has an `ep` of its own, or a pipeline group would differ between the two tilings.
  expert_view(rank_grid const& dense, expert_sizes sizes);

  /// Ranks that share one expert.
  [[nodiscard]] int etp_size() const noexcept { return grid_.size_of(axis::tp); }
  /// Ranks that share the experts of a layer.
  [[nodiscard]] int ep_size() const noexcept { return grid_.size_of(axis::ep); }
  /// Ranks that hold the same experts.
  [[nodiscard]] int edp_size() const noexcept { return grid_.size_of(axis::dp); }

  /// The second tiling as a grid: its axis tp is etp, its axis dp is edp, cp is 1.
  [[nodiscard]] rank_grid const& grid() const noexcept { return grid_; }

 private:
  rank_grid grid_;
};

/// The expert view, or nullopt if neither size is set.
[[nodiscard]] std::optional<expert_view> make_expert_view(rank_grid const& dense,
                                                          expert_sizes sizes);

}  // namespace hocket
