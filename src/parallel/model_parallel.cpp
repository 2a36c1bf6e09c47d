// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <hocket/async/promise.hpp>
#include <hocket/group/detail/world_core.hpp>
#include <hocket/parallel/model_parallel.hpp>

#include "parallel_core.hpp"

namespace hocket {
namespace {

constexpr char const* init_name = "initialize_model_parallel";

axis_set const tp_cp(axis::tp, axis::cp);
axis_set const dp_cp(axis::dp, axis::cp);

axis_set tensor_axes(bool with_cp) { return with_cp ? tp_cp : axis_set(axis::tp); }
axis_set data_axes(bool with_cp) { return with_cp ? dp_cp : axis_set(axis::dp); }

int place_in(ParallelState const& s, axis_set axes) {
  return s.ranks(axes).group_rank_of(s.rank())->value();
}

detail::blueprint blueprint_of(world const& w, int tp, int pp, int cp, clock::duration timeout,
                               std::string_view order_text, model_parallel_options const& o) {
  axis_sizes sizes;
  sizes.tp = tp;
  sizes.pp = pp;
  sizes.cp = cp;
  int const ranks = o.local_world_size().value_or(w.size() - o.rank_offset());
  if (o.rank_offset() >= 0 && ranks > w.size() - o.rank_offset())
    throw error(errc::invalid_argument,
                fmt::format("{} ranks from rank {} on are more than the world's {}", ranks,
                            o.rank_offset(), w.size()));
  rank_grid grid(ranks, sizes, order::innermost_first(order_text), o.rank_offset());
  return {w.rank(), std::move(grid), o.experts(), o.virtual_pp(), timeout};
}

}  // namespace

work<ParallelState> initialize_model_parallel(world const& w, int tp_size, int pp_size, int cp_size,
                                              std::optional<std::string> const& nccl_config_path,
                                              clock::duration timeout, std::string_view order,
                                              model_parallel_options const& options,
                                              std::source_location site) {
  try {
    auto plan = blueprint_of(w, tp_size, pp_size, cp_size, timeout, order, options);
    if (nccl_config_path)
      throw error(errc::unsupported,
                  fmt::format("communicator options ({}) are for NCCL; engine {} has none to set",
                              *nccl_config_path, w.engine_name()));
    return detail::start_parallel(w, std::move(plan), site);
  } catch (error const& e) {
    bool const whole_world = options.rank_offset() == 0 && !options.local_world_size();
    if (whole_world) detail::decline_parallel(w, e, site);
    return detail::refused<ParallelState>(e, init_name, site);
  }
}

work<ParallelState> initialize_model_parallel(int tp_size, int pp_size, int cp_size,
                                              std::optional<std::string> const& nccl_config_path,
                                              clock::duration timeout, std::string_view order,
                                              model_parallel_options const& options,
                                              std::source_location site) {
  try {
    auto const w = detail::only_world();
    return initialize_model_parallel(w, tp_size, pp_size, cp_size, nccl_config_path, timeout, order,
                                     options, site);
  } catch (error const& e) {
    return detail::refused<ParallelState>(e, init_name, site);
  }
}

work<ParallelState> ParallelState::reshape(axis_sizes sizes, order o,
                                           std::source_location site) const {
  try {
    auto const& old = core();
    auto const home = old->home.lock();
    if (!home) throw error(errc::group_closed, "the world of this ParallelState is gone");
    auto const& now = old->plan;
    detail::blueprint plan(now.rank,
                           rank_grid(now.grid.size(), sizes, std::move(o), now.grid.offset()),
                           expert_sizes(), 1, now.timeout);
    if (plan.record() == now.record()) return make_ready_work(nullptr, *this);
    static_cast<void>(detail::end_parallel(old, false, site));
    return detail::start_parallel(world(home), std::move(plan), site);
  } catch (error const& e) {
    return detail::refused<ParallelState>(e, "ParallelState::reshape", site);
  }
}

work<> destroy_model_parallel(ParallelState const& state, bool destroy_process_groups,
                              std::source_location site) {
  return detail::end_parallel(state.core_or_null(), destroy_process_groups, site);
}

work<> destroy_model_parallel(bool destroy_process_groups, std::source_location site) {
  try {
    return destroy_model_parallel(parallel_state(), destroy_process_groups, site);
  } catch (error const& e) {
    if (e.code() == errc::not_initialized) return make_ready_work();
    return detail::refused<void>(e, "destroy_model_parallel", site);
  }
}

bool model_parallel_is_initialized(ParallelState const& state) { return state.is_initialized(); }

bool model_parallel_is_initialized() {
  try {
    return parallel_state().is_initialized();
  } catch (error const& e) {
    if (e.code() == errc::not_initialized) return false;
    throw;
  }
}

ParallelState parallel_state() {
  auto const w = detail::only_world();
  auto const slot = detail::parallel_slot::of(w);
  std::lock_guard const lock(slot->mutex);
  if (slot->state) return ParallelState(slot->state);
  throw error(
      errc::not_initialized,
      fmt::format("world rank {} has no ParallelState: call initialize_model_parallel first",
                  w.rank().value()));
}

// ---------------------------------------------------------------- accessors

process_group get_tp_group(ParallelState const& s, bool cp) { return s.group(tensor_axes(cp)); }
process_group get_dp_group(ParallelState const& s, bool cp) { return s.group(data_axes(cp)); }
process_group get_cp_group(ParallelState const& s) { return s.cp_group(); }
process_group get_pp_group(ParallelState const& s) { return s.pp_group(); }
process_group get_ep_group(ParallelState const& s) { return s.ep_group(); }
process_group get_model_parallel_group(ParallelState const& s) { return s.model_parallel_group(); }
int get_tp_rank(ParallelState const& s, bool cp) { return place_in(s, tensor_axes(cp)); }
int get_dp_rank(ParallelState const& s, bool cp) { return place_in(s, data_axes(cp)); }
int get_cp_rank(ParallelState const& s) { return s.cp_rank(); }
int get_pp_rank(ParallelState const& s) { return s.pp_rank(); }
int get_ep_rank(ParallelState const& s) { return s.ep_rank(); }
int get_tp_world_size(ParallelState const& s, bool cp) { return s.grid().size_of(tensor_axes(cp)); }
int get_dp_world_size(ParallelState const& s, bool cp) { return s.grid().size_of(data_axes(cp)); }
int get_cp_world_size(ParallelState const& s) { return s.cp_size(); }
int get_pp_world_size(ParallelState const& s) { return s.pp_size(); }
int get_ep_world_size(ParallelState const& s) { return s.ep_size(); }
bool is_pipeline_first_stage(ParallelState const& s) { return s.is_first_pp_stage(); }
bool is_pipeline_last_stage(ParallelState const& s) { return s.is_last_pp_stage(); }
bool is_last_rank(ParallelState const& s) { return s.is_last_rank(); }
bool is_last_tp_cp_rank(ParallelState const& s) { return s.is_last_tp_cp_rank(); }
world_rank get_tensor_model_parallel_src_rank(ParallelState const& s, bool cp) {
  return cp ? s.tp_cp_src() : s.tp_src();
}
world_rank get_tensor_model_parallel_last_rank(ParallelState const& s, bool cp) {
  return cp ? s.tp_cp_last() : s.tp_last();
}
rank_group get_tensor_model_parallel_ranks(ParallelState const& s, bool cp) {
  return s.ranks(tensor_axes(cp));
}
world_rank get_pipeline_model_parallel_first_rank(ParallelState const& s) { return s.pp_first(); }
world_rank get_pipeline_model_parallel_last_rank(ParallelState const& s) { return s.pp_last(); }
world_rank get_pipeline_model_parallel_next_rank(ParallelState const& s) { return s.pp_next(); }
world_rank get_pipeline_model_parallel_prev_rank(ParallelState const& s) { return s.pp_prev(); }

process_group get_tp_group(bool cp) { return get_tp_group(parallel_state(), cp); }
process_group get_dp_group(bool cp) { return get_dp_group(parallel_state(), cp); }
process_group get_cp_group() { return get_cp_group(parallel_state()); }
process_group get_pp_group() { return get_pp_group(parallel_state()); }
process_group get_ep_group() { return get_ep_group(parallel_state()); }
process_group get_model_parallel_group() { return get_model_parallel_group(parallel_state()); }
int get_tp_rank(bool cp) { return get_tp_rank(parallel_state(), cp); }
int get_dp_rank(bool cp) { return get_dp_rank(parallel_state(), cp); }
int get_cp_rank() { return get_cp_rank(parallel_state()); }
int get_pp_rank() { return get_pp_rank(parallel_state()); }
int get_ep_rank() { return get_ep_rank(parallel_state()); }
int get_tp_world_size(bool cp) { return get_tp_world_size(parallel_state(), cp); }
int get_dp_world_size(bool cp) { return get_dp_world_size(parallel_state(), cp); }
int get_cp_world_size() { return get_cp_world_size(parallel_state()); }
int get_pp_world_size() { return get_pp_world_size(parallel_state()); }
int get_ep_world_size() { return get_ep_world_size(parallel_state()); }
bool is_pipeline_first_stage() { return is_pipeline_first_stage(parallel_state()); }
bool is_pipeline_last_stage() { return is_pipeline_last_stage(parallel_state()); }
bool is_last_rank() { return is_last_rank(parallel_state()); }
bool is_last_tp_cp_rank() { return is_last_tp_cp_rank(parallel_state()); }
world_rank get_tensor_model_parallel_src_rank(bool cp) {
  return get_tensor_model_parallel_src_rank(parallel_state(), cp);
}
world_rank get_tensor_model_parallel_last_rank(bool cp) {
  return get_tensor_model_parallel_last_rank(parallel_state(), cp);
}
rank_group get_tensor_model_parallel_ranks(bool cp) {
  return get_tensor_model_parallel_ranks(parallel_state(), cp);
}
world_rank get_pipeline_model_parallel_first_rank() {
  return get_pipeline_model_parallel_first_rank(parallel_state());
}
world_rank get_pipeline_model_parallel_last_rank() {
  return get_pipeline_model_parallel_last_rank(parallel_state());
}
world_rank get_pipeline_model_parallel_next_rank() {
  return get_pipeline_model_parallel_next_rank(parallel_state());
}
world_rank get_pipeline_model_parallel_prev_rank() {
  return get_pipeline_model_parallel_prev_rank(parallel_state());
}

}  // namespace hocket
