// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <chrono>
#include <hocket/async/clock.hpp>
#include <hocket/async/work.hpp>
#include <hocket/group/process_group.hpp>
#include <hocket/group/world.hpp>
#include <hocket/topology/axis.hpp>
#include <hocket/topology/order.hpp>
#include <hocket/topology/rank.hpp>
#include <hocket/topology/rank_grid.hpp>
#include <hocket/topology/rank_group.hpp>
#include <memory>
#include <source_location>
#include <string>

namespace hocket {

namespace detail {
class parallel_core;
}

/// Where one rank stands on every axis, and its groups: the CurryTrain ParallelState.
///
/// A copyable handle on state that lives as long as its world, or the last handle. Any thread may
/// call. Before `init` and after `destroy_model_parallel` every accessor throws
/// `errc::not_initialized`.
///
/// Groups of one rank are disabled ("no parallelism"): splitting, gathering and broadcasting over
/// them is the identity and costs nothing on any engine. Their members are told by `ranks()`.
/// Each kind of group is a group of its own, also where two have the same ranks, so that programs
/// may use them independently of each other.
class ParallelState {
 public:
  ParallelState() noexcept = default;

  /// All ranks of the world call it, with the same arguments; done when every rank has all its
  /// groups. `sizes.dp` may be derived. Wrong sizes are `errc::invalid_argument` with the numbers
  /// before anything is created, and `errc::peer_failed` on ranks whose sizes are right; ranks that
  /// give different topologies all get `errc::mismatch` naming both.
  /// If it fails on one rank it fails on all, and nothing remains. Called again with the same
  /// topology it gives the state that there is; with another, `errc::already_initialized`.
  [[nodiscard]] static work<ParallelState> init(
      world const& w, axis_sizes sizes, order o = order::outermost_first("dp-ep-pp-tp-cp"),
      clock::duration timeout = std::chrono::minutes(30),
      std::source_location site = std::source_location::current());

  /// Another topology of the same ranks in place of this one, in this order. All ranks call it.
  /// Wrong sizes leave the old state as it is; later failures leave none. Groups with the same
  /// members are taken over. The experts' view, virtual stages and the PPScheduler end with the old
  /// state.
  [[nodiscard]] work<ParallelState> reshape(
      axis_sizes sizes, order o, std::source_location site = std::source_location::current()) const;

  /// Whether accessors will answer.
  [[nodiscard]] bool is_initialized() const noexcept;

  // -- the layout
  /// How all ranks of the topology stand.
  [[nodiscard]] rank_grid grid() const;
  /// This rank in its world.
  [[nodiscard]] world_rank rank() const;
  /// Where this rank stands on each axis.
  [[nodiscard]] coordinate place() const;
  /// Pieces of the model that each pipeline stage holds; 1: not interleaved.
  [[nodiscard]] int virtual_pp_size() const;
  /// "tp 2 * cp 2 * ep 1 * dp 1 * pp 2 (order tp-cp-pp-dp-ep), world 8".
  [[nodiscard]] std::string describe() const;

  // -- along any axes
  /// @{
  /// The ranks that differ from this one along these axes only. Groups exist for the single axes,
  /// tp-cp, dp-cp, tp-pp, tp-dp and tp-dp-cp; other sets are `errc::invalid_argument` there. Ranks
  /// are ascending.
  [[nodiscard]] process_group group(axis_set axes) const;
  [[nodiscard]] rank_group ranks(axis_set axes) const;
  /// @}

  // -- along one axis
  /// @{
  /// This rank's place, or the number of ranks, along one axis. `ep` is the experts' view's if
  /// there is one, which alone has `etp` and `edp`: without it those are `errc::invalid_argument`.
  [[nodiscard]] int tp_rank() const;
  [[nodiscard]] int cp_rank() const;
  [[nodiscard]] int ep_rank() const;
  [[nodiscard]] int dp_rank() const;
  [[nodiscard]] int pp_rank() const;
  [[nodiscard]] int etp_rank() const;
  [[nodiscard]] int edp_rank() const;
  [[nodiscard]] int tp_size() const;
  [[nodiscard]] int cp_size() const;
  [[nodiscard]] int ep_size() const;
  [[nodiscard]] int dp_size() const;
  [[nodiscard]] int pp_size() const;
  [[nodiscard]] int etp_size() const;
  [[nodiscard]] int edp_size() const;
  /// @}

  // -- groups
  /// @{
  /// The ranks that differ from this one along the axes of the name; disabled if there is no other.
  [[nodiscard]] process_group tp_group() const;
  [[nodiscard]] process_group cp_group() const;
  [[nodiscard]] process_group ep_group() const;
  [[nodiscard]] process_group dp_group() const;
  [[nodiscard]] process_group pp_group() const;
  [[nodiscard]] process_group tp_cp_group() const;
  [[nodiscard]] process_group dp_cp_group() const;
  [[nodiscard]] process_group tp_dp_group() const;
  [[nodiscard]] process_group tp_dp_cp_group() const;
  /// @}
  /// The ranks that hold one copy of the model between them: along tp and pp.
  [[nodiscard]] process_group model_parallel_group() const;
  /// @{
  /// Of the experts' view; `errc::invalid_argument` without one.
  [[nodiscard]] process_group etp_group() const;
  [[nodiscard]] process_group edp_group() const;
  [[nodiscard]] process_group etp_ep_group() const;
  [[nodiscard]] process_group etp_ep_pp_group() const;
  /// @}

  // The names that CurryTrain programs use.
  /// @{
  /// As the function without `get_`.
  [[nodiscard]] process_group get_tp_group() const { return tp_group(); }
  [[nodiscard]] process_group get_cp_group() const { return cp_group(); }
  [[nodiscard]] process_group get_ep_group() const { return ep_group(); }
  [[nodiscard]] process_group get_dp_group() const { return dp_group(); }
  [[nodiscard]] process_group get_pp_group() const { return pp_group(); }
  /// @}

  // -- members of this rank's groups
  /// @{
  /// In group order, also where the group is disabled.
  [[nodiscard]] rank_group ep_ranks() const;
  [[nodiscard]] rank_group etp_ranks() const;
  [[nodiscard]] rank_group edp_ranks() const;
  [[nodiscard]] rank_group etp_ep_ranks() const;
  [[nodiscard]] rank_group etp_ep_pp_ranks() const;
  /// @}

  // -- questions
  /// @{
  /// True for both where there is one stage.
  [[nodiscard]] bool is_first_pp_stage() const;
  [[nodiscard]] bool is_last_pp_stage() const;
  /// @}
  /// The grid's last rank.
  [[nodiscard]] bool is_last_rank() const;
  /// The last rank of its tp-cp group: one in each pipeline stage of each replica.
  [[nodiscard]] bool is_last_tp_cp_rank() const;

  // -- world ranks
  /// @{
  /// The first, last, next or previous rank of this rank's group along the axes of the name. Stages
  /// are a ring: after the last comes the first.
  [[nodiscard]] world_rank tp_src() const;
  [[nodiscard]] world_rank tp_last() const;
  [[nodiscard]] world_rank tp_cp_src() const;
  [[nodiscard]] world_rank tp_cp_last() const;
  [[nodiscard]] world_rank pp_first() const;
  [[nodiscard]] world_rank pp_last() const;
  [[nodiscard]] world_rank pp_next() const;
  [[nodiscard]] world_rank pp_prev() const;
  /// @}

  /// Handles on the same state.
  friend bool operator==(ParallelState const& a, ParallelState const& b) noexcept {
    return a.core_ == b.core_;
  }

  // -- for layers above
  /// @cond
  explicit ParallelState(std::shared_ptr<detail::parallel_core> c) noexcept : core_(std::move(c)) {}
  /// Throws unless initialised.
  [[nodiscard]] std::shared_ptr<detail::parallel_core> const& core() const;
  [[nodiscard]] std::shared_ptr<detail::parallel_core> const& core_or_null() const noexcept {
    return core_;
  }
  /// @endcond

 private:
  std::shared_ptr<detail::parallel_core> core_;
};

}  // namespace hocket
