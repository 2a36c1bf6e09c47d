// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// One request's way through one stage, and the words between stages.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/strand.hpp>
#include <utility>

#include "pipeline_core.hpp"

namespace hocket::detail {

namespace asio = boost::asio;

asio::awaitable<void> pipeline_core::serve(core_ptr self, item_ptr item) {
  if (!item->was_over) {
    item->turn.emplace(self->home_, self->site_);
    auto turn = item->turn->get_work();
    self->waiting_.push_back(item.get());
    self->schedule();
    co_await std::move(turn);
    if (item->has_turn) co_await run_function(self, item);
    if (self->has_peers()) co_await agree(self, item);
    item->peers.close_channel();  // not earlier: peers that wait there would fail as of that
    self->note_end(item->end);
  }
  item->is_leaving = true;
  co_await drop_skips(self, item);
  co_await hand_on(self, item);
  if (item->has_turn) --self->not_taken_;
  self->items_.erase(item->id);
  {
    std::lock_guard const lock(self->report_mutex_);
    --self->report_.open;
  }
  self->schedule();
}

asio::awaitable<void> pipeline_core::call_function(core_ptr self, item_ptr item) {
  try {
    auto running = self->function_(stage_request(self, item), std::move(item->input));
    item->output = co_await std::move(running);
  } catch (...) {
    item->thrown = std::current_exception();
  }
}

asio::awaitable<void> pipeline_core::run_function(core_ptr self, item_ptr item) {
  if (!self->is_first()) {
    if (!item->arriving.valid()) self->fetch(*item);
    item->input = co_await std::move(item->arriving);
  }
  if (!item->end.is_early()) {
    auto const from = clock::steady().now();
    item->peers = self->peer_group_.channel(channel_of(self->options_.number(), item->id));
    item->call.emplace(self->executor_, self->site_);
    item->call->spawn(asio::make_strand(self->executor_), call_function(self, item));
    auto ended = item->call->join();
    co_await std::move(ended);
    item->call.reset();
    self->note_call(from, clock::steady().now());
  }
  item->input = tensor();
  if (item->thrown && !item->end.is_early()) {
    item->end = ending::of(item->thrown);
    item->end.story = fmt::format("stage {} failed: {}", self->stage_, item->end.story);
  }
  item->thrown = nullptr;
  if (item->end.is_early()) item->output = tensor();
  --self->running_;
  ++self->not_taken_;
  self->schedule();
}

asio::awaitable<void> pipeline_core::drop_skips(core_ptr self, item_ptr item) {
  if (!item->has_turn && !item->was_over && !self->is_first()) {
    if (!item->arriving.valid()) self->fetch(*item);
    co_await std::move(item->arriving);
  }
  for (auto const& [from, to] : item->skips) {
    if (to != self->stage_) continue;
    op_options o;
    o.tag(tag_of(skip_tag, item->id));
    auto dropped = self->stages_.recv(group_rank(from), o, self->site_);
    co_await std::move(dropped);
  }
  std::erase_if(item->skips, [&](auto const& s) { return s.second == self->stage_; });
}

asio::awaitable<void> pipeline_core::hand_on(core_ptr self, item_ptr item) {
  bool const is_well = !item->end.is_early();
  if (is_well && !item->output.defined()) item->output = tensor::empty(dtype::u8, {0});
  if (self->count_ == 1) {
    self->request_over(item->id, std::move(item->output), item->end);
    co_return;
  }
  int const to = (self->stage_ + 1) % self->count_;
  hop h(self->is_last() ? hop_kind::done : is_well ? hop_kind::data : hop_kind::dead, item->id);
  h.priority = item->priority;
  h.note = item->note;
  h.end = item->end;
  h.skips = std::move(item->skips);
  work<> taken;
  if (is_well) {
    op_options o;
    o.tag(tag_of(self->is_last() ? result_tag : data_tag, item->id)).no_deadline();
    taken =
        self->stages_.send(std::exchange(item->output, tensor()), group_rank(to), o, self->site_);
  }
  self->tell(to, h);
  if (taken.valid()) co_await std::move(taken);
}

void pipeline_core::note_call(clock::time_point from, clock::time_point to) {
  std::lock_guard const lock(report_mutex_);
  if (!first_call_) first_call_ = from;
  ++report_.calls;
  report_.busy += to - from;
  report_.elapsed = std::max(report_.elapsed, to - *first_call_);
}

void pipeline_core::note_end(ending const& end) {
  if (!end.is_early()) return;
  std::lock_guard const lock(report_mutex_);
  ++(end.code == ending::aborted ? report_.cancelled : report_.failed);
}

// -- the words between stages

work<> pipeline_core::tell(int stage, hop const& h) const {
  op_options o;
  o.tag(tag_of(word_tag, 0)).no_deadline();
  return stages_.send_object(h, group_rank(stage), o, site_);
}

asio::awaitable<void> pipeline_core::listen(core_ptr self) {
  op_options o;
  o.tag(tag_of(word_tag, 0)).no_deadline();
  group_rank const from((self->stage_ + self->count_ - 1) % self->count_);
  for (;;) {
    auto coming = self->stages_.recv_object<hop>(from, o, self->site_);
    auto const h = co_await std::move(coming);
    if (h.kind == hop_kind::close) break;
    self->take(h);
  }
  if (!self->is_first()) self->say_farewell();
}

void pipeline_core::take(hop const& h) {
  switch (h.kind) {
    case hop_kind::data:
    case hop_kind::dead:
      return announce(h, tensor());
    case hop_kind::cancel:
      return cancel(h.id);
    case hop_kind::done:
      if (h.end.is_early()) return request_over(h.id, tensor(), h.end);
      return tasks_.spawn(strand_, fetch_result(shared_from_this(), h.id));
    default:
      throw error(errc::desynchronised,
                  fmt::format("stage {} of {}: a word of kind {} does not come from a stage",
                              stage_, label_, static_cast<int>(h.kind)));
  }
}

asio::awaitable<void> pipeline_core::fetch_result(core_ptr self, std::uint64_t id) {
  op_options o;
  o.tag(tag_of(result_tag, id));
  auto coming = self->stages_.recv(group_rank(self->count_ - 1), o, self->site_);
  auto result = co_await std::move(coming);
  self->request_over(id, std::move(result), ending());
}

void pipeline_core::request_over(std::uint64_t id, tensor result, ending const& end) {
  in_flight_.erase(id);
  book_.end(id, std::move(result), end);
  schedule();
  farewell_if_closing();
}

// -- what stage functions ask for

work<> pipeline_core::skip_to(pipeline_item& item, int stage, tensor t,
                              std::source_location site) const {
  if (stage <= stage_ || stage >= count_)
    return failed_work<void>(errc::invalid_argument, "skip_to",
                             fmt::format("stage {} is not behind stage {} of {} ({} stages)", stage,
                                         stage_, label_, count_),
                             site);
  if (!t.defined())
    return failed_work<void>(errc::invalid_argument, "skip_to", "the tensor is undefined", site);
  item.skips.emplace_back(stage_, stage);
  op_options o;
  o.tag(tag_of(skip_tag, item.id)).no_deadline();
  return stages_.send(std::move(t), group_rank(stage), o, site);
}

work<tensor> pipeline_core::skip_from(pipeline_item& item, int stage,
                                      std::source_location site) const {
  auto const at = std::ranges::find(item.skips, std::pair(stage, stage_));
  if (at == item.skips.end())
    return failed_work<tensor>(
        errc::invalid_argument, "skip_from",
        fmt::format("stage {} has handed nothing more of request {} to stage {} of {}", stage,
                    item.id, stage_, label_),
        site);
  item.skips.erase(at);
  op_options o;
  o.tag(tag_of(skip_tag, item.id));
  return stages_.recv(group_rank(stage), o, site);
}

}  // namespace hocket::detail
