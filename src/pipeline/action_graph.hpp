// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// A schedule's actions as nodes, and what each of them needs.
#pragma once

#include <array>
#include <hocket/pipeline/prediction.hpp>
#include <hocket/pipeline/schedule.hpp>
#include <string>
#include <vector>

namespace hocket {

/// Nodes are numbered rank by rank, in the order of each. Keeps a reference to the schedule.
class action_graph {
 public:
  static constexpr int none = -1;

  /// An action that is there twice is `errc::invalid_argument`. The table has a cell for each kind,
  /// stage and microbatch: the caller sees to it that there are not many more than actions.
  explicit action_graph(schedule const& plan);

  [[nodiscard]] schedule const& plan() const noexcept { return plan_; }
  [[nodiscard]] int node(int rank, int index) const { return first_[size_of(rank)] + index; }
  [[nodiscard]] int find(action_kind kind, int stage, int microbatch) const;
  /// B or I.
  [[nodiscard]] int find_backward(int stage, int microbatch) const;
  [[nodiscard]] int rank_of(int node) const { return rank_of_[size_of(node)]; }
  [[nodiscard]] int index_of(int node) const { return node - first_[size_of(rank_of(node))]; }
  [[nodiscard]] action const& at(int node) const;
  /// Whether what a stage gives its next crosses ranks.
  [[nodiscard]] bool crosses_after(int stage) const;
  /// Up to two nodes that must be done before, besides the one before it on its rank.
  [[nodiscard]] std::array<int, 2> needs(int node) const;
  /// "1F3 (action 5 of rank 1)"
  [[nodiscard]] std::string place(int node) const;

 private:
  static std::size_t size_of(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] std::size_t cell(action_kind kind, int stage, int microbatch) const;
  [[nodiscard]] std::array<int, 2> compute_needs(action const& a) const;

  schedule const& plan_;
  std::vector<int> first_;    // node of each rank's first action
  std::vector<int> rank_of_;  // by node
  std::vector<int> table_;
};

/// A schedule played through: each rank in order, each action when its needs are done. Ends when
/// all is done or no rank can go on.
class playback {
 public:
  playback(action_graph const& graph, action_costs const& costs);

  [[nodiscard]] bool is_finished() const noexcept { return left_ == 0; }
  /// The node at which a rank stands, `none` if it is through.
  [[nodiscard]] int stands_at(int rank) const;
  /// What that node needs and has not got.
  [[nodiscard]] int waits_for(int rank) const;
  /// By node; those that have been played.
  [[nodiscard]] std::vector<time_span> const& spans() const noexcept { return spans_; }

 private:
  bool advance(int rank);
  void play(int rank, int node);
  [[nodiscard]] double duration(action const& a) const noexcept;
  [[nodiscard]] bool is_done(int node) const;

  action_graph const& graph_;
  action_costs const& costs_;
  std::vector<time_span> spans_;
  std::vector<int> cursor_;                // of each rank: how many actions it has done
  std::vector<std::vector<int>> waiting_;  // ranks that wait for each rank
  std::vector<double> free_at_;
  std::int64_t left_;
};

}  // namespace hocket
