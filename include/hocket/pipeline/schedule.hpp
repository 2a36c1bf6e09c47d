// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <hocket/pipeline/action.hpp>
#include <span>
#include <string>
#include <vector>

namespace hocket {

/// A pipeline's run as data: for each rank the actions it does, one after the other, and which rank
/// holds which stage. A value; it knows no group and no tensor.
///
/// Its parts fit together (each action's stage is on the rank that does it, each microbatch is
/// below the number of microbatches); whether the actions can be run is for `check`.
class schedule {
 public:
  /// Most actions a schedule may have, over all ranks.
  static constexpr std::int64_t actions_max = std::int64_t{1} << 22;
  /// Most ranks, stages and microbatches, each.
  static constexpr int count_max = 1 << 20;

  /// `rank_of_stage[s]` holds stage s; `actions[r]` are those of rank r, in order. At least one
  /// rank, stage and microbatch. `errc::invalid_argument` names the action that does not fit,
  /// `errc::too_large` the limit above that is passed.
  schedule(std::string name, std::vector<int> rank_of_stage, int microbatches,
           std::vector<std::vector<action>> actions);

  /// "1f1b", or what an imported one was called.
  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  /// Pipeline ranks.
  [[nodiscard]] int ranks() const noexcept { return static_cast<int>(actions_.size()); }
  /// Stages over all ranks: a model is cut into so many parts.
  [[nodiscard]] int stages() const noexcept { return static_cast<int>(rank_of_stage_.size()); }
  /// Microbatches, numbered from 0.
  [[nodiscard]] int microbatches() const noexcept { return microbatches_; }
  /// The rank that holds a stage.
  [[nodiscard]] int rank_of(int stage) const;
  /// The ranks that hold the stages 0, 1, 2, …
  [[nodiscard]] std::span<int const> placement() const noexcept { return rank_of_stage_; }
  /// The stages of a rank, ascending.
  [[nodiscard]] std::vector<int> stages_of(int rank) const;
  /// What a rank does, in order.
  [[nodiscard]] std::span<action const> actions(int rank) const;
  /// Actions over all ranks.
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }

  /// Whether there are sends and receives among the actions. A schedule without them (also
  /// PyTorch's `compute_only`) says only the order of computing; `with_communication` adds them.
  [[nodiscard]] bool has_communication() const noexcept { return has_communication_; }
  /// Whether there is a B, I or W among the actions.
  [[nodiscard]] bool has_backward() const noexcept { return has_backward_; }

  friend bool operator==(schedule const&, schedule const&) = default;

 private:
  void take_note(action const& a, int rank, std::size_t index);

  std::string name_;
  std::vector<int> rank_of_stage_;
  int microbatches_;
  std::vector<std::vector<action>> actions_;
  std::int64_t size_ = 0;
  bool has_communication_ = false;
  bool has_backward_ = false;
};

}  // namespace hocket
