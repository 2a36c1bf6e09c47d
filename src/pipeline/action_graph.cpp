// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "pipeline/action_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <hocket/error.hpp>

namespace hocket {

using enum action_kind;

std::size_t action_graph::cell(action_kind kind, int stage, int microbatch) const {
  auto const row = static_cast<std::size_t>(kind) * size_of(plan_.stages()) + size_of(stage);
  return row * size_of(plan_.microbatches()) + size_of(microbatch);
}

action_graph::action_graph(schedule const& plan) : plan_(plan) {
  rank_of_.reserve(static_cast<std::size_t>(plan.size()));
  table_.assign(cell(user, 0, 0), none);
  for (int r = 0; r < plan.ranks(); ++r) {
    first_.push_back(static_cast<int>(rank_of_.size()));
    for (auto const& a : plan.actions(r)) {
      int const now = static_cast<int>(rank_of_.size());
      rank_of_.push_back(r);
      if (a.kind() == user) continue;
      auto& known = table_[cell(a.kind(), a.stage(), a.microbatch())];
      if (known != none)
        throw error(errc::invalid_argument,
                    fmt::format("{} is there twice on rank {}: actions {} and {}", to_string(a), r,
                                index_of(known), index_of(now)));
      known = now;
    }
  }
}

int action_graph::find(action_kind kind, int stage, int microbatch) const {
  return table_[cell(kind, stage, microbatch)];
}

int action_graph::find_backward(int stage, int microbatch) const {
  int const whole = find(backward, stage, microbatch);
  return whole != none ? whole : find(backward_input, stage, microbatch);
}

action const& action_graph::at(int node) const {
  return plan_.actions(rank_of(node))[size_of(index_of(node))];
}

bool action_graph::crosses_after(int stage) const {
  return plan_.rank_of(stage) != plan_.rank_of(stage + 1);
}

std::array<int, 2> action_graph::compute_needs(action const& a) const {
  int const s = a.stage();
  int const m = a.microbatch();
  bool const by_message = plan_.has_communication();
  if (a.kind() == backward_weight) return {find(backward_input, s, m), none};
  if (a.kind() == forward) {
    if (s == 0) return {none, none};
    bool const is_received = by_message && crosses_after(s - 1);
    return {is_received ? find(recv_forward, s, m) : find(forward, s - 1, m), none};
  }
  int const own = find(forward, s, m);
  if (s + 1 == plan_.stages()) return {own, none};
  bool const is_received = by_message && crosses_after(s);
  return {own, is_received ? find(recv_backward, s, m) : find_backward(s + 1, m)};
}

std::array<int, 2> action_graph::needs(int node) const {
  auto const& a = at(node);
  int const s = a.stage();
  int const m = a.microbatch();
  switch (a.kind()) {
    case send_forward:
      return {find(forward, s, m), none};
    case recv_forward:
      return {find(send_forward, s - 1, m), none};
    case send_backward:
      return {find_backward(s, m), none};
    case recv_backward:
      return {find(send_backward, s + 1, m), none};
    case user:
      return {none, none};
    default:
      return compute_needs(a);
  }
}

std::string action_graph::place(int node) const {
  return fmt::format("{} (action {} of rank {})", to_string(at(node)), index_of(node),
                     rank_of(node));
}

playback::playback(action_graph const& graph, action_costs const& costs)
    : graph_(graph),
      costs_(costs),
      spans_(static_cast<std::size_t>(graph.plan().size())),
      cursor_(static_cast<std::size_t>(graph.plan().ranks())),
      waiting_(cursor_.size()),
      free_at_(cursor_.size()),
      left_(graph.plan().size()) {
  std::deque<int> ready;
  for (int r = 0; r < graph.plan().ranks(); ++r) ready.push_back(r);
  while (!ready.empty()) {
    int const rank = ready.front();
    ready.pop_front();
    bool const has_moved = advance(rank);
    auto& others = waiting_[static_cast<std::size_t>(rank)];
    if (has_moved) {
      ready.insert(ready.end(), others.begin(), others.end());
      others.clear();
    }
    // Registered last: a rank that waits for itself is not woken by its own progress.
    if (int const missing =
            stands_at(rank) == action_graph::none ? action_graph::none : waits_for(rank);
        missing != action_graph::none)
      waiting_[static_cast<std::size_t>(graph.rank_of(missing))].push_back(rank);
  }
}

int playback::stands_at(int rank) const {
  int const done = cursor_[static_cast<std::size_t>(rank)];
  bool const is_through = done == static_cast<int>(graph_.plan().actions(rank).size());
  return is_through ? action_graph::none : graph_.node(rank, done);
}

bool playback::is_done(int node) const {
  return graph_.index_of(node) < cursor_[static_cast<std::size_t>(graph_.rank_of(node))];
}

int playback::waits_for(int rank) const {
  for (int const need : graph_.needs(stands_at(rank)))
    if (need != action_graph::none && !is_done(need)) return need;
  return action_graph::none;
}

bool playback::advance(int rank) {
  bool has_moved = false;
  for (int node = stands_at(rank); node != action_graph::none; node = stands_at(rank)) {
    if (waits_for(rank) != action_graph::none) return has_moved;
    play(rank, node);
    has_moved = true;
  }
  return has_moved;
}

void playback::play(int rank, int node) {
  auto const r = static_cast<std::size_t>(rank);
  double begin = free_at_[r];
  for (int const need : graph_.needs(node)) {
    if (need == action_graph::none) continue;
    double const on_the_way = graph_.rank_of(need) == rank ? 0 : costs_.communication;
    begin = std::max(begin, spans_[static_cast<std::size_t>(need)].end + on_the_way);
  }
  double const end = begin + duration(graph_.at(node));
  spans_[static_cast<std::size_t>(node)] = {begin, end};
  free_at_[r] = end;
  ++cursor_[r];
  --left_;
}

double playback::duration(action const& a) const noexcept {
  bool const is_last = a.microbatch() == graph_.plan().microbatches() - 1;
  double const share = is_last ? costs_.last_microbatch : 1;
  switch (a.kind()) {
    case forward:
      return costs_.forward * share;
    case backward:
      return costs_.backward * share;
    case backward_input:
      return costs_.backward_input * share;
    case backward_weight:
      return costs_.backward_weight * share;
    case user:
      return costs_.user;
    default:
      return 0;
  }
}

}  // namespace hocket
