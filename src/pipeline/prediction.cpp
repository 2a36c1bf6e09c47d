// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <hocket/error.hpp>
#include <hocket/pipeline/checker.hpp>
#include <hocket/pipeline/prediction.hpp>
#include <numeric>

#include "pipeline/action_graph.hpp"

namespace hocket {
namespace {

void check_cost(char const* what, double cost) {
  if (std::isfinite(cost) && cost >= 0) return;
  throw error(errc::invalid_argument,
              fmt::format("{} costs {}: it must be finite and not negative", what, cost));
}

void check_costs(action_costs const& costs) {
  check_cost("F", costs.forward);
  check_cost("B", costs.backward);
  check_cost("I", costs.backward_input);
  check_cost("W", costs.backward_weight);
  check_cost("a user-defined action", costs.user);
  check_cost("communication", costs.communication);
  check_cost("the last microbatch's share", costs.last_microbatch);
}

}  // namespace

prediction predict(schedule const& plan, action_costs const& costs) {
  check_costs(costs);
  check(plan);
  action_graph const graph(plan);
  playback const run(graph, costs);
  prediction result;
  result.peak_activations = peak_activations(plan);
  for (int r = 0; r < plan.ranks(); ++r) {
    auto const begin = run.spans().begin() + graph.node(r, 0);
    auto& spans = result.timeline.emplace_back(begin, begin + std::ssize(plan.actions(r)));
    result.busy.push_back(std::accumulate(
        spans.begin(), spans.end(), 0.0,
        [](double sum, time_span const& span) { return sum + (span.end - span.begin); }));
    if (!spans.empty()) result.makespan = std::max(result.makespan, spans.back().end);
  }
  double const all = result.makespan * plan.ranks();
  if (!std::isfinite(all))
    throw error(errc::invalid_argument, "the costs add up to more than a number can hold");
  double const busy = std::accumulate(result.busy.begin(), result.busy.end(), 0.0);
  // Sums of many spans are rounded; a run without idle time has a bubble of exactly 0.
  double const idle = all - busy;
  result.bubble = idle > all * 1e-12 ? idle / all : 0;
  return result;
}

}  // namespace hocket
