// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/pipeline/schedule.hpp>
#include <vector>

namespace hocket {

/// How long one action takes, in any unit of time; each finite and not negative.
class action_costs {
 public:
  action_costs() = default;
  double forward = 1;          ///< F
  double backward = 2;         ///< B
  double backward_input = 1;   ///< I
  double backward_weight = 1;  ///< W
  double user = 0;             ///< a user-defined action
  double communication = 0;    ///< from a send to the receive's end; keeps neither rank busy
  double last_microbatch = 1;  ///< the last microbatch's share of the costs of the others
};

/// When an action runs, from the schedule's begin.
struct time_span {
  double begin = 0;
  double end = 0;
};

/// A schedule's run, foretold.
class prediction {
 public:
  prediction() = default;
  double makespan = 0;                           ///< when the last action ends
  double bubble = 0;                             ///< idle share of makespan * ranks, below 1
  std::vector<double> busy;                      ///< of each rank
  std::vector<int> peak_activations;             ///< of each stage; see `peak_activations`
  std::vector<std::vector<time_span>> timeline;  ///< `[r][i]` of action i of rank r
};

/// Plays a schedule through: each rank does its actions in order, each as soon as what it needs is
/// there. Runs `check` first and throws what it throws; `errc::invalid_argument` for bad costs.
///
/// With the default costs (F = I = W = 1, B = 2, free communication), p ranks and m microbatches,
/// the bubble is (p-1)/(m+p-1) for `forward`, `gpipe` and `1f1b`; (p-1)/(vm+p-1) for
/// `interleaved-1f1b` with v stages a rank if p divides m; (p-1)/(3m+p-1) for `zb-h1` if m >= p.
[[nodiscard]] prediction predict(schedule const& plan, action_costs const& costs = action_costs());

}  // namespace hocket
