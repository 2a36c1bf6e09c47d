// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <cstdint>
#include <hocket/async/clock.hpp>
#include <hocket/topology/expert_view.hpp>
#include <hocket/topology/rank_grid.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace hocket::detail {

/// What two ranks must agree on, and what makes two topologies the same: numbers only.
using topology_record = std::array<std::int64_t, 12>;

/// "tp 2 * cp 2 * ep 1 * dp 1 * pp 2 (order tp-cp-pp-dp-ep), ranks 8 to 15".
[[nodiscard]] std::string describe(topology_record const& record);

/// All that is known of one rank's state before anything is created: pure arithmetic.
class blueprint {
 public:
  /// Throws `errc::not_a_member` if the grid has no place for this rank, `errc::invalid_argument`
  /// with the numbers for sizes that do not go together.
  blueprint(world_rank me, rank_grid dense, expert_sizes experts, int virtual_stages,
            clock::duration limit);

  world_rank rank;
  rank_grid grid;
  std::optional<expert_view> expert;
  int virtual_pp;
  clock::duration timeout;

  [[nodiscard]] topology_record record() const;
};

/// A kind of group that a state has for its rank.
class family {
 public:
  constexpr family(std::string_view n, axis_set a, bool experts) noexcept
      : name(n), axes(a), of_experts(experts) {}
  std::string_view name;
  axis_set axes;
  bool of_experts;  ///< axes of the expert view: tp is etp, dp is edp
};

/// In the order of creation.
inline constexpr std::array<family, 15> families{
    family("tp", axis_set(axis::tp), false),
    family("cp", axis_set(axis::cp), false),
    family("ep", axis_set(axis::ep), false),
    family("dp", axis_set(axis::dp), false),
    family("pp", axis_set(axis::pp), false),
    family("tp-cp", axis_set(axis::tp, axis::cp), false),
    family("dp-cp", axis_set(axis::dp, axis::cp), false),
    family("tp-pp", axis_set(axis::tp, axis::pp), false),
    family("tp-dp", axis_set(axis::tp, axis::dp), false),
    family("tp-dp-cp", axis_set(axis::tp, axis::dp, axis::cp), false),
    family("etp", axis_set(axis::tp), true),
    family("ep", axis_set(axis::ep), true),
    family("edp", axis_set(axis::dp), true),
    family("etp-ep", axis_set(axis::tp, axis::ep), true),
    family("etp-ep-pp", axis_set(axis::tp, axis::ep, axis::pp), true)};

}  // namespace hocket::detail
