// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <hocket/async/promise.hpp>
#include <hocket/parallel/parallel_state.hpp>

#include "parallel_core.hpp"

namespace hocket {
namespace {

using detail::blueprint;
using detail::families;

expert_view const& experts_of(blueprint const& plan) {
  if (plan.expert) return *plan.expert;
  throw error(errc::invalid_argument,
              fmt::format("there is no experts' view of {}: it exists if ep or etp was set",
                          detail::describe(plan.record())));
}

rank_group expert_ranks(blueprint const& plan, axis_set axes) {
  return experts_of(plan).grid().group_of(plan.rank, axes);
}

// The ep axis, wherever it is.
rank_grid const& grid_with_ep(blueprint const& plan) {
  return plan.expert ? plan.expert->grid() : plan.grid;
}

std::size_t family_of(axis_set axes, bool of_experts) {
  for (std::size_t i = 0; i < families.size(); ++i)
    if (families[i].of_experts == of_experts && families[i].axes == axes) return i;
  throw error(errc::invalid_argument,
              fmt::format("no group is made along {}; there are tp, cp, ep, dp, pp, tp-cp, dp-cp, "
                          "tp-pp, tp-dp, tp-dp-cp",
                          axes.empty() ? "no axis" : axes.text()));
}

process_group expert_group(detail::parallel_core const& core, axis_set axes) {
  static_cast<void>(experts_of(core.plan));
  return core.made(family_of(axes, true)).group;
}

}  // namespace

work<ParallelState> ParallelState::init(world const& w, axis_sizes sizes, order o,
                                        clock::duration timeout, std::source_location site) {
  try {
    rank_grid grid(w.size(), sizes, std::move(o));
    return detail::start_parallel(
        w, blueprint(w.rank(), std::move(grid), expert_sizes(), 1, timeout), site);
  } catch (error const& e) {
    detail::decline_parallel(w, e, site);
    return detail::refused<ParallelState>(e, "ParallelState::init", site);
  }
}

std::shared_ptr<detail::parallel_core> const& ParallelState::core() const {
  if (!core_)
    throw error(errc::not_initialized,
                "this ParallelState is empty: initialise it with ParallelState::init or "
                "initialize_model_parallel");
  core_->expect_live();
  return core_;
}

bool ParallelState::is_initialized() const noexcept { return core_ && core_->live(); }

rank_grid ParallelState::grid() const { return core()->plan.grid; }
world_rank ParallelState::rank() const { return core()->plan.rank; }
coordinate ParallelState::place() const { return core()->place; }
int ParallelState::virtual_pp_size() const { return core()->plan.virtual_pp; }
std::string ParallelState::describe() const { return detail::describe(core()->plan.record()); }

process_group ParallelState::group(axis_set axes) const {
  return core()->made(family_of(axes, false)).group;
}
rank_group ParallelState::ranks(axis_set axes) const { return grid().group_of(rank(), axes); }

int ParallelState::tp_rank() const { return place().tp; }
int ParallelState::cp_rank() const { return place().cp; }
int ParallelState::dp_rank() const { return place().dp; }
int ParallelState::pp_rank() const { return place().pp; }
int ParallelState::ep_rank() const {
  auto const& plan = core()->plan;
  return grid_with_ep(plan).at(plan.rank).ep;
}
int ParallelState::etp_rank() const {
  auto const& plan = core()->plan;
  return experts_of(plan).grid().at(plan.rank).tp;
}
int ParallelState::edp_rank() const {
  auto const& plan = core()->plan;
  return experts_of(plan).grid().at(plan.rank).dp;
}

int ParallelState::tp_size() const { return grid().size_of(axis::tp); }
int ParallelState::cp_size() const { return grid().size_of(axis::cp); }
int ParallelState::dp_size() const { return grid().size_of(axis::dp); }
int ParallelState::pp_size() const { return grid().size_of(axis::pp); }
int ParallelState::ep_size() const { return grid_with_ep(core()->plan).size_of(axis::ep); }
int ParallelState::etp_size() const { return experts_of(core()->plan).etp_size(); }
int ParallelState::edp_size() const { return experts_of(core()->plan).edp_size(); }

process_group ParallelState::tp_group() const { return group(axis::tp); }
process_group ParallelState::cp_group() const { return group(axis::cp); }
process_group ParallelState::dp_group() const { return group(axis::dp); }
process_group ParallelState::pp_group() const { return group(axis::pp); }
process_group ParallelState::ep_group() const {
  return core()->plan.expert ? expert_group(*core(), axis::ep) : group(axis::ep);
}
process_group ParallelState::tp_cp_group() const { return group(axis_set(axis::tp, axis::cp)); }
process_group ParallelState::dp_cp_group() const { return group(axis_set(axis::dp, axis::cp)); }
process_group ParallelState::tp_dp_group() const { return group(axis_set(axis::tp, axis::dp)); }
process_group ParallelState::tp_dp_cp_group() const {
  return group(axis_set(axis::tp, axis::dp, axis::cp));
}
process_group ParallelState::model_parallel_group() const {
  return group(axis_set(axis::tp, axis::pp));
}
process_group ParallelState::etp_group() const { return expert_group(*core(), axis::tp); }
process_group ParallelState::edp_group() const { return expert_group(*core(), axis::dp); }
process_group ParallelState::etp_ep_group() const {
  return expert_group(*core(), axis_set(axis::tp, axis::ep));
}
process_group ParallelState::etp_ep_pp_group() const {
  return expert_group(*core(), axis_set(axis::tp, axis::ep, axis::pp));
}

rank_group ParallelState::ep_ranks() const {
  auto const& plan = core()->plan;
  return grid_with_ep(plan).group_of(plan.rank, axis::ep);
}
rank_group ParallelState::etp_ranks() const { return expert_ranks(core()->plan, axis::tp); }
rank_group ParallelState::edp_ranks() const { return expert_ranks(core()->plan, axis::dp); }
rank_group ParallelState::etp_ep_ranks() const {
  return expert_ranks(core()->plan, axis_set(axis::tp, axis::ep));
}
rank_group ParallelState::etp_ep_pp_ranks() const {
  return expert_ranks(core()->plan, axis_set(axis::tp, axis::ep, axis::pp));
}

namespace {

// The member `steps` places after this rank's, round the ring.
world_rank neighbour(rank_group const& ring, world_rank me, int steps) {
  int const n = ring.size();
  return ring[group_rank((ring.group_rank_of(me)->value() + steps + n) % n)];
}

world_rank first_of(rank_group const& g) { return g[group_rank(0)]; }
world_rank last_of(rank_group const& g) { return g[group_rank(g.size() - 1)]; }

}  // namespace

bool ParallelState::is_first_pp_stage() const { return pp_rank() == 0; }
bool ParallelState::is_last_pp_stage() const { return pp_rank() == pp_size() - 1; }
bool ParallelState::is_last_rank() const {
  return rank().value() == grid().offset() + grid().size() - 1;
}
bool ParallelState::is_last_tp_cp_rank() const { return rank() == tp_cp_last(); }

world_rank ParallelState::tp_src() const { return first_of(ranks(axis::tp)); }
world_rank ParallelState::tp_last() const { return last_of(ranks(axis::tp)); }
world_rank ParallelState::tp_cp_src() const {
  return first_of(ranks(axis_set(axis::tp, axis::cp)));
}
world_rank ParallelState::tp_cp_last() const {
  return last_of(ranks(axis_set(axis::tp, axis::cp)));
}
world_rank ParallelState::pp_first() const { return first_of(ranks(axis::pp)); }
world_rank ParallelState::pp_last() const { return last_of(ranks(axis::pp)); }
world_rank ParallelState::pp_next() const { return neighbour(ranks(axis::pp), rank(), 1); }
world_rank ParallelState::pp_prev() const { return neighbour(ranks(axis::pp), rank(), -1); }

}  // namespace hocket
