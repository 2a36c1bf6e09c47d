// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <hocket/parallel/parallel_state.hpp>
#include <hocket/pipeline/prediction.hpp>
#include <hocket/pipeline/schedule.hpp>
#include <hocket/tensor/tensor.hpp>
#include <map>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace hocket {

/// What one rank does in each action of a schedule that computes: coroutines of the application,
/// called one after the other.
///
/// They are told the stage, since a rank may hold several, and the microbatch. What a stage keeps
/// for its backward pass is theirs to keep.
class stage_actions {
 public:
  /// Gets and returns activations, or gradients.
  using compute =
      std::function<boost::asio::awaitable<tensor>(int stage, int microbatch, tensor x)>;
  /// Gets and returns nothing.
  using step = std::function<boost::asio::awaitable<void>(int stage, int microbatch)>;

  stage_actions() = default;

  /// F: gets the output of the stage before, and returns the stage's. The first stage gets an
  /// undefined tensor: the input is the application's. What the last stage returns is in the
  /// report's `outputs`; `tensor()` where nothing is to be kept.
  stage_actions& forward(compute f) {
    forward_ = std::move(f);
    return *this;
  }
  /// B: gets the gradient of the stage's output and returns that of its input. The last stage gets
  /// an undefined tensor; what the first returns is dropped.
  stage_actions& backward(compute f) {
    backward_ = std::move(f);
    return *this;
  }
  /// I: as B, and leaves the weights' gradients for W.
  stage_actions& backward_input(compute f) {
    backward_input_ = std::move(f);
    return *this;
  }
  /// W.
  stage_actions& backward_weight(step f) {
    backward_weight_ = std::move(f);
    return *this;
  }
  /// A user-defined action.
  stage_actions& user(std::string name, step f) {
    user_[std::move(name)] = std::move(f);
    return *this;
  }

  /// @cond
  [[nodiscard]] compute const* computes(action_kind kind) const noexcept {
    if (kind == action_kind::forward) return &forward_;
    if (kind == action_kind::backward) return &backward_;
    return kind == action_kind::backward_input ? &backward_input_ : nullptr;
  }
  [[nodiscard]] step const* steps(action const& a) const {
    if (a.kind() == action_kind::backward_weight) return &backward_weight_;
    auto const at = user_.find(a.name());
    return at != user_.end() ? &at->second : nullptr;
  }
  /// @endcond

 private:
  compute forward_, backward_, backward_input_;
  step backward_weight_;
  std::map<std::string, step, std::less<>> user_;
};

/// How a schedule is run; the same on all its ranks.
class schedule_options {
 public:
  schedule_options() = default;

  /// Of the prediction that the report has beside what was measured. Default: F = I = W = 1, B = 2.
  schedule_options& costs(action_costs const& c) {
    costs_ = c;
    return *this;
  }
  /// Receives that are begun before their turn. Default: 2.
  schedule_options& receives_ahead(int n) {
    receives_ahead_ = n;
    return *this;
  }
  /// Ranks that work on the same stages, each on its own shard: if one of them fails all do.
  /// Default: the tp-cp group of the state; over a bare group, none.
  schedule_options& peers(process_group p) {
    peers_ = std::move(p);
    return *this;
  }
  /// Below 4096: schedules that run over the same ranks at the same time need numbers of their own.
  /// Default: 0.
  schedule_options& number(int n) {
    number_ = n;
    return *this;
  }

  /// @{
  /// What was set, or its default.
  [[nodiscard]] action_costs const& costs() const noexcept { return costs_; }
  [[nodiscard]] int receives_ahead() const noexcept { return receives_ahead_; }
  [[nodiscard]] std::optional<process_group> const& peers() const noexcept { return peers_; }
  [[nodiscard]] int number() const noexcept { return number_; }
  /// @}

 private:
  action_costs costs_;
  int receives_ahead_ = 2;
  std::optional<process_group> peers_;
  int number_ = 0;
};

/// How a schedule's run went. Times are in seconds.
struct schedule_report {
  schedule_report() = default;
  double makespan = 0;              ///< from the common start to the last rank's end
  double bubble = 0;                ///< idle share of makespan * ranks
  std::vector<double> busy;         ///< of each rank, in its coroutines
  prediction predicted;             ///< by the options' costs, in their unit
  std::vector<time_span> timeline;  ///< of each action of this rank
  std::vector<tensor> outputs;      ///< of each microbatch, on the rank of the last stage
};

/// Runs a schedule: each rank does its actions in their order, sends and receives over the group,
/// the others by the application's coroutines. All ranks of the pp group of the state call it, with
/// the same schedule; one that has no communication yet is given it.
///
/// First the schedule is proved (`check`): a bad one throws `errc::invalid_argument`, as does one
/// for another number of ranks, or with actions that there is no coroutine for; nothing has been
/// sent then. Ranks that give different schedules all get `errc::mismatch`. Shapes travel with the
/// data: microbatches may differ, also in size.
///
/// An exception of a coroutine ends the run on all ranks, with its code, naming rank and action.
/// Coroutines that run elsewhere are cancelled (terminal). If the call itself is cancelled, the
/// group is revoked.
[[nodiscard]] boost::asio::awaitable<schedule_report> run_schedule(
    ParallelState const& state, schedule plan, stage_actions actions,
    schedule_options options = schedule_options(),
    std::source_location site = std::source_location::current());
/// Likewise over a group's members: the schedule's rank r is the member in place r.
[[nodiscard]] boost::asio::awaitable<schedule_report> run_schedule(
    process_group const& stages, schedule plan, stage_actions actions,
    schedule_options options = schedule_options(),
    std::source_location site = std::source_location::current());

}  // namespace hocket
