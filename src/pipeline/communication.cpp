// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <hocket/pipeline/communication.hpp>
#include <utility>

namespace hocket {
namespace {

bool crosses_ranks(schedule const& plan, int from, int to) {
  return from >= 0 && to >= 0 && from < plan.stages() && to < plan.stages() &&
         plan.rank_of(from) != plan.rank_of(to);
}

// An action that makes or needs a gradient of the stage's input.
bool is_backward(action const& a) {
  return a.kind() == action_kind::backward || a.kind() == action_kind::backward_input;
}

void add_with_messages(schedule const& plan, action const& a, std::vector<action>& to) {
  int const s = a.stage();
  int const m = a.microbatch();
  bool const from_previous = crosses_ranks(plan, s - 1, s);
  bool const to_next = crosses_ranks(plan, s, s + 1);
  if (a.kind() == action_kind::forward) {
    if (from_previous) to.emplace_back(s, action_kind::recv_forward, m);
    to.push_back(a);
    if (to_next) to.emplace_back(s, action_kind::send_forward, m);
  } else if (is_backward(a)) {
    if (to_next) to.emplace_back(s, action_kind::recv_backward, m);
    to.push_back(a);
    if (from_previous) to.emplace_back(s, action_kind::send_backward, m);
  } else {
    to.push_back(a);
  }
}

template <class Add>
schedule rebuilt(schedule const& plan, Add const& add) {
  std::vector<std::vector<action>> lists(static_cast<std::size_t>(plan.ranks()));
  for (int r = 0; r < plan.ranks(); ++r)
    for (auto const& a : plan.actions(r)) add(a, lists[static_cast<std::size_t>(r)]);
  auto const placement = plan.placement();
  return {plan.name(), std::vector<int>(placement.begin(), placement.end()), plan.microbatches(),
          std::move(lists)};
}

}  // namespace

schedule with_communication(schedule plan) {
  if (plan.has_communication()) return plan;
  return rebuilt(plan,
                 [&](action const& a, std::vector<action>& to) { add_with_messages(plan, a, to); });
}

schedule without_communication(schedule const& plan) {
  return rebuilt(plan, [](action const& a, std::vector<action>& to) {
    if (!a.is_communication()) to.push_back(a);
  });
}

}  // namespace hocket
