// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <hocket/topology/axis.hpp>
#include <hocket/topology/order.hpp>
#include <hocket/topology/rank.hpp>
#include <hocket/topology/rank_group.hpp>
#include <vector>

namespace hocket {

/// Where a rank stands on each axis, counted from 0.
struct coordinate {
  /// @{
  /// From 0 to the size of the axis - 1.
  int tp = 0;
  int cp = 0;
  int ep = 0;
  int dp = 0;
  int pp = 0;
  /// @}

  /// Along an axis.
  [[nodiscard]] constexpr int operator[](axis a) const noexcept {
    switch (a) {
      case axis::tp:
        return tp;
      case axis::cp:
        return cp;
      case axis::ep:
        return ep;
      case axis::dp:
        return dp;
      case axis::pp:
        break;
    }
    return pp;
  }
  /// The same place.
  friend constexpr bool operator==(coordinate const&, coordinate const&) = default;
};

/// How the ranks offset … offset + world - 1 are laid out along the five axes.
/// A value of a few dozen bytes that stores no list of ranks: rank and coordinate follow from each
/// other by arithmetic. All five axes multiply the world here, `ep` and `cp` together as well;
/// for experts over the ranks that tp, cp and dp use already, see `expert_view`.
class rank_grid {
 public:
  /// Throws `errc::invalid_argument` with every number if a size or the world is below 1, the
  /// offset negative, an axis of more than one rank missing from the order, more than one size
  /// `derive`, the product of the sizes not `world`, or the last rank too large for an int.
  rank_grid(int world, axis_sizes sizes, hocket::order order = {}, int offset = 0);

  /// Ranks in this grid.
  [[nodiscard]] int size() const noexcept { return world_; }
  /// The lowest rank of this grid.
  [[nodiscard]] int offset() const noexcept { return offset_; }
  /// Along one axis; at least 1.
  [[nodiscard]] int size_of(axis a) const noexcept { return sizes_[a]; }
  /// The product of the sizes of several axes: the size of each of their groups.
  [[nodiscard]] int size_of(axis_set axes) const noexcept;
  /// All sizes, none of them `derive`.
  [[nodiscard]] axis_sizes const& sizes() const noexcept { return sizes_; }
  /// The innermost axis first.
  [[nodiscard]] hocket::order const& order() const noexcept { return order_; }
  /// How far apart the ranks of two neighbours along this axis are.
  [[nodiscard]] int stride_of(axis a) const noexcept { return strides_[index(a)]; }
  /// Whether it is one of offset … offset + size - 1.
  [[nodiscard]] bool contains(world_rank rank) const noexcept {
    return rank.value() >= offset_ && rank.value() - offset_ < world_;
  }

  /// The coordinate of a rank; `errc::invalid_argument` if it is outside the grid.
  [[nodiscard]] coordinate at(world_rank rank) const;
  /// The rank at a coordinate; `errc::invalid_argument` if it is outside the grid.
  [[nodiscard]] world_rank at(coordinate const& place) const;

  /// The ranks that differ from `rank` along these axes only, ascending. O(1), whatever the size.
  [[nodiscard]] rank_group group_of(world_rank rank, axis_set axes) const;

  /// Every group along these axes, in the order in which Megatron creates them: counted along the
  /// other axes, the fastest first, which is by ascending first rank.
  [[nodiscard]] std::vector<rank_group> groups(axis_set axes) const;

  /// Equal if each rank has the same coordinate in both.
  friend bool operator==(rank_grid const& a, rank_grid const& b) noexcept {
    return a.offset_ == b.offset_ && a.sizes_ == b.sizes_ && a.order_ == b.order_;
  }

 private:
  static constexpr std::size_t index(axis a) noexcept { return static_cast<std::size_t>(a); }
  // The group that begins at `first`, whose coordinates along `axes` are all 0.
  [[nodiscard]] rank_group group_from(int first, axis_set axes) const noexcept;

  int world_;
  int offset_;
  axis_sizes sizes_;
  hocket::order order_;
  std::array<int, axis_count> strides_{};
};

}  // namespace hocket
