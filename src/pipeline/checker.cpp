// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <algorithm>
#include <hocket/error.hpp>
#include <hocket/pipeline/checker.hpp>
#include <utility>

#include "pipeline/action_graph.hpp"

namespace hocket {
namespace {

using enum action_kind;

constexpr int none = action_graph::none;

[[noreturn]] void refuse(std::string const& story) { throw error(errc::invalid_argument, story); }

std::string text(int stage, action_kind kind, int microbatch) {
  return to_string(action(stage, kind, microbatch));
}

[[noreturn]] void refuse_missing_forward(schedule const& plan, int stage, int microbatch) {
  refuse(fmt::format("{} is missing: rank {} never runs stage {} for microbatch {}",
                     text(stage, forward, microbatch), plan.rank_of(stage), stage, microbatch));
}

// Before any table of stages * microbatches is made: fewer forwards than that lack one. Found
// without a table, for the numbers may be as large as an import says.
void check_number_of_forwards(schedule const& plan) {
  std::vector<std::pair<int, int>> there;
  for (int r = 0; r < plan.ranks(); ++r)
    for (auto const& a : plan.actions(r))
      if (a.kind() == forward) there.emplace_back(a.stage(), a.microbatch());
  if (std::int64_t{plan.stages()} * plan.microbatches() <= std::ssize(there)) return;
  std::ranges::sort(there);
  int stage = 0;
  int microbatch = 0;
  for (auto const& [s, m] : there) {
    if (std::pair(s, m) > std::pair(stage, microbatch)) break;
    if (std::pair(s, m) < std::pair(stage, microbatch)) continue;  // there twice
    if (++microbatch == plan.microbatches()) {
      microbatch = 0;
      ++stage;
    }
  }
  refuse_missing_forward(plan, stage, microbatch);
}

void check_backward(action_graph const& graph, int s, int m) {
  int const whole = graph.find(backward, s, m);
  int const input = graph.find(backward_input, s, m);
  int const weight = graph.find(backward_weight, s, m);
  int const rank = graph.plan().rank_of(s);
  int const half = input != none ? input : weight;
  if (whole != none && half != none)
    refuse(fmt::format("{} and {} both: B is I and W", graph.place(whole), graph.place(half)));
  if (whole != none || (input != none && weight != none)) return;
  if (half == none)
    refuse(
        fmt::format("{} (or I and W) is missing: rank {} never runs the backward of stage {} "
                    "for microbatch {}",
                    text(s, backward, m), rank, s, m));
  auto const other = input != none ? backward_weight : backward_input;
  refuse(fmt::format("{} has no {} on rank {}", graph.place(half), text(s, other, m), rank));
}

// A message that must be sent from one stage and received by the next or the one before.
void check_message(action_graph const& graph, std::pair<action_kind, int> from,
                   std::pair<action_kind, int> to, int m) {
  int const send = graph.find(from.first, from.second, m);
  int const recv = graph.find(to.first, to.second, m);
  if (send != none && recv != none) return;
  auto const absent_send = text(from.second, from.first, m);
  auto const absent_recv = text(to.second, to.first, m);
  int const sender = graph.plan().rank_of(from.second);
  int const receiver = graph.plan().rank_of(to.second);
  if (send != none)
    refuse(fmt::format("{} has no {} on rank {}", graph.place(send), absent_recv, receiver));
  if (recv != none)
    refuse(fmt::format("{} has no {} on rank {}", graph.place(recv), absent_send, sender));
  refuse(fmt::format("{} on rank {} and {} on rank {} are missing", absent_send, sender,
                     absent_recv, receiver));
}

void check_messages(action_graph const& graph, int s, int m) {
  if (s + 1 == graph.plan().stages() || !graph.crosses_after(s)) return;
  check_message(graph, {send_forward, s}, {recv_forward, s + 1}, m);
  if (graph.plan().has_backward())
    check_message(graph, {send_backward, s + 1}, {recv_backward, s}, m);
}

// A send or receive that no neighbour is there for.
void check_neighbours(action_graph const& graph) {
  auto const& plan = graph.plan();
  for (int r = 0; r < plan.ranks(); ++r)
    for (int i = 0; auto const& a : plan.actions(r)) {
      int const node = graph.node(r, i++);
      if (!a.is_communication()) continue;
      int const peer = a.peer_stage();
      if (peer < 0 || peer >= plan.stages())
        refuse(fmt::format("{}: there is no stage {} it, of {} stages", graph.place(node),
                           peer < 0 ? "before" : "after", plan.stages()));
      if (plan.rank_of(peer) == r)
        refuse(fmt::format("{}: stages {} and {} are both on rank {} and exchange no messages",
                           graph.place(node), a.stage(), peer, r));
      bool const is_gradient = a.kind() == send_backward || a.kind() == recv_backward;
      if (is_gradient && !plan.has_backward())
        refuse(fmt::format("{}: there is no backward", graph.place(node)));
    }
}

void check_presence(action_graph const& graph) {
  auto const& plan = graph.plan();
  for (int s = 0; s < plan.stages(); ++s)
    for (int m = 0; m < plan.microbatches(); ++m) {
      if (graph.find(forward, s, m) == none) refuse_missing_forward(plan, s, m);
      if (plan.has_backward()) check_backward(graph, s, m);
      if (plan.has_communication()) check_messages(graph, s, m);
    }
}

// Ranks of which each waits for the next, and the last for the first.
std::vector<int> wait_cycle(action_graph const& graph, playback const& run) {
  std::vector<int> path;
  int rank = 0;
  while (run.stands_at(rank) == none) ++rank;
  std::vector<char> is_on_path(static_cast<std::size_t>(graph.plan().ranks()));
  while (!is_on_path[static_cast<std::size_t>(rank)]) {
    is_on_path[static_cast<std::size_t>(rank)] = 1;
    path.push_back(rank);
    rank = graph.rank_of(run.waits_for(rank));
  }
  path.erase(path.begin(), std::ranges::find(path, rank));
  return path;
}

[[noreturn]] void refuse_cycle(action_graph const& graph, playback const& run) {
  constexpr std::size_t shown_max = 16;
  auto const cycle = wait_cycle(graph, run);
  if (cycle.size() == 1) {
    int const at = run.stands_at(cycle.front());
    int const need = run.waits_for(cycle.front());
    refuse(fmt::format("{} needs {}, which comes after it (action {})", graph.place(at),
                       to_string(graph.at(need)), graph.index_of(need)));
  }
  std::string story = fmt::format("{} ranks wait for each other:", cycle.size());
  for (std::size_t i = 0; i < std::min(cycle.size(), shown_max); ++i) {
    int const at = run.stands_at(cycle[i]);
    int const need = run.waits_for(cycle[i]);
    story += fmt::format("{} rank {} at {} (action {}) for {}", i == 0 ? "" : ";", cycle[i],
                         to_string(graph.at(at)), graph.index_of(at), graph.place(need));
  }
  if (cycle.size() > shown_max) story += fmt::format("; … {} more", cycle.size() - shown_max);
  refuse(story);
}

}  // namespace

void check(schedule const& plan) {
  check_number_of_forwards(plan);
  action_graph const graph(plan);
  check_neighbours(graph);
  check_presence(graph);
  action_costs const costs;
  playback const run(graph, costs);
  if (!run.is_finished()) refuse_cycle(graph, run);
}

std::vector<int> peak_activations(schedule const& plan) {
  std::vector<int> kept(static_cast<std::size_t>(plan.stages()));
  auto peak = kept;
  for (int r = 0; r < plan.ranks(); ++r)
    for (auto const& a : plan.actions(r)) {
      auto const s = static_cast<std::size_t>(a.stage());
      if (a.kind() == forward) peak[s] = std::max(peak[s], ++kept[s]);
      bool const is_release = plan.has_backward()
                                  ? a.kind() == backward || a.kind() == backward_weight
                                  : a.kind() == forward;
      if (is_release) --kept[s];
    }
  return peak;
}

}  // namespace hocket
