// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// The walk itself: computing, sending and receiving.
#include "schedule_walk.hpp"

#include <fmt/format.h>

#include <hocket/error.hpp>
#include <utility>

namespace hocket::detail {

namespace asio = boost::asio;

namespace {

// So many unmatched sends fit into the smallest useful window of a channel.
constexpr std::size_t sends_unmatched_max = 256;

double seconds(clock::duration d) { return std::chrono::duration<double>(d).count(); }

// Messages are told apart by direction, stage of the sender and microbatch.
std::uint64_t tag_of(action const& a) {
  bool const forwards =
      a.kind() == action_kind::send_forward || a.kind() == action_kind::recv_forward;
  int const sender = a.is_send() ? a.stage() : a.peer_stage();
  return (std::uint64_t{forwards ? 1u : 2u} << 48) | (static_cast<std::uint64_t>(sender) << 24) |
         static_cast<std::uint64_t>(a.microbatch());
}

}  // namespace

tensor_table::tensor_table(schedule const& plan, int rank)
    : first_(static_cast<std::size_t>(plan.stages()), -1) {
  int cells = 0;
  for (int const s : plan.stages_of(rank))
    first_[static_cast<std::size_t>(s)] = std::exchange(cells, cells + plan.microbatches());
  cells_.resize(static_cast<std::size_t>(cells));
}

tensor& tensor_table::at(int stage, int microbatch) {
  return cells_[static_cast<std::size_t>(first_[static_cast<std::size_t>(stage)] + microbatch)];
}

asio::awaitable<void> schedule_walk::walk(walk_ptr self) {
  try {
    auto all = walk_all(self);
    co_await std::move(all);
  } catch (...) {
    auto e = ending::of(std::current_exception());
    auto const what =
        self->at_ < self->list_.size() ? to_string(self->list_[self->at_]) : "its last send";
    e.story = fmt::format("run_schedule at {}: rank {} of {} failed in {} of schedule {}: {}",
                          to_string(self->site_), self->rank_, self->label_, what,
                          self->plan_.name(), e.story);
    self->fail(std::move(e), true, true);
  }
}

asio::awaitable<void> schedule_walk::walk_all(walk_ptr self) {
  auto& timeline = self->report_.timeline;
  timeline.reserve(self->list_.size());
  for (; self->at_ < self->list_.size(); ++self->at_) {
    auto const& a = self->list_[self->at_];
    self->receive_ahead();
    auto const from = clock::steady().now();
    if (a.is_communication()) {
      co_await self->communicate(a);
    } else if (auto const* const f = self->actions_.computes(a.kind())) {
      co_await self->compute(a, *f);
    } else {
      auto step = (*self->actions_.steps(a))(a.stage(), a.microbatch());
      co_await std::move(step);
    }
    auto const to = clock::steady().now();
    if (!a.is_communication()) self->busy_ += seconds(to - from);
    time_span span;
    span.begin = seconds(from - self->start_);
    span.end = seconds(to - self->start_);
    timeline.push_back(span);
  }
  for (auto& s : self->sends_) co_await std::move(s);
  self->sends_.clear();
}

asio::awaitable<void> schedule_walk::compute(action const& a, stage_actions::compute const& f) {
  auto& from = a.kind() == action_kind::forward ? inputs_ : gradients_in_;
  auto running =
      f(a.stage(), a.microbatch(), std::exchange(from.at(a.stage(), a.microbatch()), tensor()));
  auto y = co_await std::move(running);
  hand_over(a, std::move(y));
}

// To the next stage, or the one before: here, or to be sent.
void schedule_walk::hand_over(action const& a, tensor y) {
  bool const forwards = a.kind() == action_kind::forward;
  int const to = a.stage() + (forwards ? 1 : -1);
  if (to < 0) return;
  if (to == plan_.stages()) {
    report_.outputs[static_cast<std::size_t>(a.microbatch())] = std::move(y);
  } else if (!y.defined()) {
    throw error(errc::invalid_argument,
                fmt::format("it returned an undefined tensor, which stage {} needs", to));
  } else if (plan_.rank_of(to) == rank_) {
    (forwards ? inputs_ : gradients_in_).at(to, a.microbatch()) = std::move(y);
  } else {
    (forwards ? outputs_ : gradients_out_).at(a.stage(), a.microbatch()) = std::move(y);
  }
}

asio::awaitable<void> schedule_walk::communicate(action const& a) {
  if (a.is_send()) {
    co_await send(a);
    co_return;
  }
  auto coming = receives_.front();  // where it is can be told to stop
  auto x = co_await std::move(coming);
  receives_.pop_front();
  auto& to = a.kind() == action_kind::recv_forward ? inputs_ : gradients_in_;
  to.at(a.stage(), a.microbatch()) = std::move(x);
}

// A send waits for nobody, unless its channel's window is full.
asio::awaitable<void> schedule_walk::send(action const& a) {
  auto& from = a.kind() == action_kind::send_forward ? outputs_ : gradients_out_;
  op_options o;
  o.tag(tag_of(a));
  while (!sends_.empty() && sends_.front().ready()) {
    co_await std::move(sends_.front());
    sends_.pop_front();
  }
  sends_.push_back(stages_.send(std::exchange(from.at(a.stage(), a.microbatch()), tensor()),
                                group_rank(plan_.rank_of(a.peer_stage())), o, site_));
  if (sends_.size() < sends_unmatched_max) co_return;
  auto posted = sends_.back().posted();
  co_await std::move(posted);
}

void schedule_walk::receive_ahead() {
  auto const wanted = static_cast<std::size_t>(options_.receives_ahead());
  for (; receives_.size() < wanted && next_receive_ < list_.size(); ++next_receive_) {
    auto const& a = list_[next_receive_];
    if (!a.is_recv()) continue;
    op_options o;
    o.tag(tag_of(a));
    receives_.push_back(stages_.recv(group_rank(plan_.rank_of(a.peer_stage())), o, site_));
  }
}

// What nobody will match any more.
void schedule_walk::give_up_messages() {
  for (auto const& s : sends_) s.get_canceller().cancel();
  for (auto const& r : receives_) r.get_canceller().cancel();
  sends_.clear();
  receives_.clear();
}

}  // namespace hocket::detail
