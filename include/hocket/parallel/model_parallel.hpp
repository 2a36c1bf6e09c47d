// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <chrono>
#include <hocket/async/clock.hpp>
#include <hocket/async/work.hpp>
#include <hocket/group/world.hpp>
#include <hocket/parallel/parallel_state.hpp>
#include <hocket/topology/expert_view.hpp>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>

namespace hocket {

// The functions that Megatron, MAGI-1 and WorldFoundry programs call. Each takes the state of the
// rank that it is about; the form without it means the only rank that this process hosts, and is
// `errc::ambiguous_rank` in a process that hosts several, `errc::not_initialized` in one without.

/// What few programs ask of `initialize_model_parallel`.
class model_parallel_options {
 public:
  model_parallel_options() = default;

  /// Experts over the ranks that tp, cp and dp use already: `n` ranks share a layer's experts.
  model_parallel_options& ep(int n) {
    experts_.ep = n;
    return *this;
  }
  /// Ranks that share one expert. Default: tp.
  model_parallel_options& etp(int n) {
    experts_.etp = n;
    return *this;
  }
  /// Pieces of the model that each pipeline stage holds; more than 1 needs more than one stage.
  model_parallel_options& virtual_pp(int n) {
    virtual_pp_ = n;
    return *this;
  }
  /// The grid's first world rank. Ranks below it are not in it and do not call.
  model_parallel_options& rank_offset(int n) {
    rank_offset_ = n;
    return *this;
  }
  /// Ranks in the grid. Default: all from the offset on.
  model_parallel_options& local_world_size(int n) {
    local_world_size_ = n;
    return *this;
  }

  /// @{
  /// What was set, or its default.
  [[nodiscard]] expert_sizes const& experts() const noexcept { return experts_; }
  [[nodiscard]] int virtual_pp() const noexcept { return virtual_pp_; }
  [[nodiscard]] int rank_offset() const noexcept { return rank_offset_; }
  [[nodiscard]] std::optional<int> local_world_size() const noexcept { return local_world_size_; }
  /// @}

 private:
  expert_sizes experts_;
  int virtual_pp_ = 1;
  int rank_offset_ = 0;
  std::optional<int> local_world_size_;
};

/// Every rank of the grid calls it; see `ParallelState::init` for what it promises. What is left of
/// the grid after tp, pp and cp is dp. `order` is Megatron's, the leftmost axis varies fastest.
/// `timeout` is the deadline of the making of the groups, and then of each of their operations.
/// A path of communicator options is `errc::unsupported` on an engine that has none to set.
[[nodiscard]] work<ParallelState> initialize_model_parallel(
    world const& w, int tp_size = 1, int pp_size = 1, int cp_size = 1,
    std::optional<std::string> const& nccl_config_path = std::nullopt,
    clock::duration timeout = std::chrono::minutes(30), std::string_view order = "tp-cp-pp-dp",
    model_parallel_options const& options = {},
    std::source_location site = std::source_location::current());
/// Likewise for the only rank that this process hosts.
[[nodiscard]] work<ParallelState> initialize_model_parallel(
    int tp_size = 1, int pp_size = 1, int cp_size = 1,
    std::optional<std::string> const& nccl_config_path = std::nullopt,
    clock::duration timeout = std::chrono::minutes(30), std::string_view order = "tp-cp-pp-dp",
    model_parallel_options const& options = {},
    std::source_location site = std::source_location::current());

/// Forgets the topology, the groups and the PPScheduler of this rank; local. Accessors throw
/// `errc::not_initialized` from now on. Groups are closed, the last one first; a failure is passed
/// over and the first one reported. False keeps them, with their transports, for the next
/// initialisation, which takes over the ones with equal members if all ranks have kept theirs.
/// Done before, or never initialised: no effect.
work<> destroy_model_parallel(ParallelState const& state, bool destroy_process_groups = true,
                              std::source_location site = std::source_location::current());
/// Likewise for the only rank that this process hosts.
work<> destroy_model_parallel(bool destroy_process_groups = true,
                              std::source_location site = std::source_location::current());

/// @{
/// Whether there is a state that was initialised and not destroyed. Never throws for a want of it.
[[nodiscard]] bool model_parallel_is_initialized(ParallelState const& state);
[[nodiscard]] bool model_parallel_is_initialized();
/// @}

/// The state of the only rank that this process hosts.
[[nodiscard]] ParallelState parallel_state();

/// @{
/// `ParallelState`'s answer of the same meaning. `with_context_parallel`: along that axis and cp.
[[nodiscard]] process_group get_tp_group(ParallelState const& s,
                                         bool with_context_parallel = false);
[[nodiscard]] process_group get_dp_group(ParallelState const& s,
                                         bool with_context_parallel = false);
[[nodiscard]] process_group get_cp_group(ParallelState const& s);
[[nodiscard]] process_group get_pp_group(ParallelState const& s);
[[nodiscard]] process_group get_ep_group(ParallelState const& s);
[[nodiscard]] process_group get_model_parallel_group(ParallelState const& s);
[[nodiscard]] int get_tp_rank(ParallelState const& s, bool with_context_parallel = false);
[[nodiscard]] int get_dp_rank(ParallelState const& s, bool with_context_parallel = false);
[[nodiscard]] int get_cp_rank(ParallelState const& s);
[[nodiscard]] int get_pp_rank(ParallelState const& s);
[[nodiscard]] int get_ep_rank(ParallelState const& s);
[[nodiscard]] int get_tp_world_size(ParallelState const& s, bool with_context_parallel = false);
[[nodiscard]] int get_dp_world_size(ParallelState const& s, bool with_context_parallel = false);
[[nodiscard]] int get_cp_world_size(ParallelState const& s);
[[nodiscard]] int get_pp_world_size(ParallelState const& s);
[[nodiscard]] int get_ep_world_size(ParallelState const& s);
[[nodiscard]] bool is_pipeline_first_stage(ParallelState const& s);
[[nodiscard]] bool is_pipeline_last_stage(ParallelState const& s);
[[nodiscard]] bool is_last_rank(ParallelState const& s);
[[nodiscard]] bool is_last_tp_cp_rank(ParallelState const& s);
[[nodiscard]] world_rank get_tensor_model_parallel_src_rank(ParallelState const& s,
                                                            bool with_context_parallel = false);
[[nodiscard]] world_rank get_tensor_model_parallel_last_rank(ParallelState const& s,
                                                             bool with_context_parallel = false);
[[nodiscard]] rank_group get_tensor_model_parallel_ranks(ParallelState const& s,
                                                         bool with_context_parallel = false);
[[nodiscard]] world_rank get_pipeline_model_parallel_first_rank(ParallelState const& s);
[[nodiscard]] world_rank get_pipeline_model_parallel_last_rank(ParallelState const& s);
[[nodiscard]] world_rank get_pipeline_model_parallel_next_rank(ParallelState const& s);
[[nodiscard]] world_rank get_pipeline_model_parallel_prev_rank(ParallelState const& s);
/// @}

/// @{
/// The same of the only rank that this process hosts.
[[nodiscard]] process_group get_tp_group(bool with_context_parallel = false);
[[nodiscard]] process_group get_dp_group(bool with_context_parallel = false);
[[nodiscard]] process_group get_cp_group();
[[nodiscard]] process_group get_pp_group();
[[nodiscard]] process_group get_ep_group();
[[nodiscard]] process_group get_model_parallel_group();
[[nodiscard]] int get_tp_rank(bool with_context_parallel = false);
[[nodiscard]] int get_dp_rank(bool with_context_parallel = false);
[[nodiscard]] int get_cp_rank();
[[nodiscard]] int get_pp_rank();
[[nodiscard]] int get_ep_rank();
[[nodiscard]] int get_tp_world_size(bool with_context_parallel = false);
[[nodiscard]] int get_dp_world_size(bool with_context_parallel = false);
[[nodiscard]] int get_cp_world_size();
[[nodiscard]] int get_pp_world_size();
[[nodiscard]] int get_ep_world_size();
[[nodiscard]] bool is_pipeline_first_stage();
[[nodiscard]] bool is_pipeline_last_stage();
[[nodiscard]] bool is_last_rank();
[[nodiscard]] bool is_last_tp_cp_rank();
[[nodiscard]] world_rank get_tensor_model_parallel_src_rank(bool with_context_parallel = false);
[[nodiscard]] world_rank get_tensor_model_parallel_last_rank(bool with_context_parallel = false);
[[nodiscard]] rank_group get_tensor_model_parallel_ranks(bool with_context_parallel = false);
[[nodiscard]] world_rank get_pipeline_model_parallel_first_rank();
[[nodiscard]] world_rank get_pipeline_model_parallel_last_rank();
[[nodiscard]] world_rank get_pipeline_model_parallel_next_rank();
[[nodiscard]] world_rank get_pipeline_model_parallel_prev_rank();
/// @}

}  // namespace hocket
