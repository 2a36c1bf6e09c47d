// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "pipeline_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/strand.hpp>
#include <hocket/async/detail/stop_link.hpp>
#include <hocket/group/detail/group_core.hpp>
#include <utility>

namespace hocket::detail {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t id_end = std::uint64_t{1} << 48;

op_options word_options() {
  op_options o;
  o.tag(tag_of(word_tag, 0)).no_deadline();
  return o;
}

runtime_handle runtime_of(process_group const& g) {
  return g.is_disabled() ? runtime::process().handle() : g.core()->rt;
}

void check(pipeline_options const& o) {
  if (o.in_flight() >= 0 && o.concurrent() >= 1 && o.credits() >= 1 && o.number() >= 0 &&
      o.number() < 4096)
    return;
  throw error(errc::invalid_argument,
              fmt::format("pipeline: in_flight {} (0: the default), concurrent {} and credits {} "
                          "must be at least 1, number {} below 4096",
                          o.in_flight(), o.concurrent(), o.credits(), o.number()));
}

}  // namespace

pipeline_core::pipeline_core(pipeline_places places, stage_function f,
                             pipeline_options const& options)
    : options_((check(options), options)),
      function_(std::move(f)),
      stages_(places.stages.channel(channel_of(options.number(), 0))),
      peer_group_(places.peers),
      peers_(places.peers.channel(channel_of(options.number(), 0))),
      stage_(places.stages.rank().value()),
      count_(places.stages.size()),
      in_flight_max_(options.in_flight() == 0 ? 2 * count_ : options.in_flight()),
      site_(places.site),
      executor_(places.executor),
      strand_(asio::make_strand(places.executor)),
      home_(port_of(places.executor)),
      rt_(runtime_of(places.stages)),
      label_(places.stages.is_disabled() ? "one stage" : places.stages.label()),
      tasks_(strand_, places.site),
      book_(label_, options.in_order()) {
  over_.emplace(home_, site_);
}

pipeline_core::~pipeline_core() {
  book_.end_all(ending(static_cast<std::int32_t>(errc::group_closed), "the pipeline is gone"));
}

// -- requests that come

work<tensor> pipeline_core::refuse(errc code, std::string const& story,
                                   std::source_location site) const {
  return failed_work<tensor>(code, "pipeline::submit",
                             fmt::format("stage {} of {}: {}", stage_, label_, story), site);
}

work<tensor> pipeline_core::submit(tensor x, submit_options const& options,
                                   std::source_location site) {
  if (!is_first()) return refuse(errc::invalid_argument, "requests enter at the first stage", site);
  if (closing_.load()) return refuse(errc::group_closed, "the pipeline was closed", site);
  if (!x.defined()) return refuse(errc::invalid_argument, "the tensor is undefined", site);
  auto const id = options.id().value_or(next_id_.load());
  if (id == 0 || id >= id_end)
    return refuse(errc::invalid_argument, fmt::format("id {} is not from 1 to 2^48 - 1", id), site);
  bool const is_theirs = options.id() && id < id_end / 2;
  for (auto next = next_id_.load(); is_theirs && next <= id;)  // none of ours is that one
    if (next_id_.compare_exchange_weak(next, id + 1)) break;
  if (!options.id()) return submit(std::move(x), submit_options(options).id(next_id_++), site);

  request_ptr const op(new request_op(home_, weak_from_this(), id), false);
  op->mutable_info().operation = "pipeline::submit";
  op->mutable_info().site = site;
  bool const has_time = options.deadline().value_or(1ns) > 0ns;
  if (options.deadline() && has_time) rt_.arm(*op, *options.deadline());
  if (!has_time) op->expire();
  auto begin_it = [self = shared_from_this(), op, x = std::move(x), options]() mutable {
    self->begin(std::move(op), std::move(x), options);
  };
  on_strand(std::move(begin_it));
  cancel_on_stop(*op, options.stop());
  return work<tensor>(op_ptr<tensor>(op));
}

void pipeline_core::begin(request_ptr op, tensor x, submit_options const& options) {
  auto const id = op->id();
  if (is_over_)
    return op->end_with(label_, tensor(),
                        ending(static_cast<std::int32_t>(errc::group_closed), "run() has ended"));
  if (!book_.add(op))
    return op->end_with(
        label_, tensor(),
        ending(static_cast<std::int32_t>(errc::invalid_argument), "a request of this id is open"));
  hop h(hop_kind::data, id);
  h.priority = options.priority();
  h.note = options.note();
  bool const ended_already = op->decided() != verdict::pending;
  try {
    announce(h, std::move(x));
  } catch (error const& e) {  // run() has ended meanwhile
    book_.end(id, tensor(), ending(static_cast<std::int32_t>(errc::group_closed), e.what()));
    return;
  }
  if (ended_already) cancel(id);
}

void pipeline_core::announce(hop const& h, tensor x) {
  auto const item = std::make_shared<pipeline_item>(h, arrivals_++);
  item->input = std::move(x);
  items_[h.id] = item;
  {
    std::lock_guard const lock(report_mutex_);
    ++report_.open;
  }
  tasks_.spawn(strand_, serve(shared_from_this(), item));
  auto const told = early_.find(h.id);
  if (told == early_.end()) return;
  auto const words = std::move(told->second);
  early_.erase(told);
  for (auto const& w : words) follow(*item, w);
}

void pipeline_core::cancel_later(std::uint64_t id) {
  on_strand([self = shared_from_this(), id] { self->cancel(id); });
}

void pipeline_core::cancel(std::uint64_t id) {
  if (is_over_ || (is_first() && !book_.contains(id))) return;
  if (!leads()) return tell_leader(hop(hop_kind::cancel, id));
  auto const at = items_.find(id);
  if (at != items_.end() && !at->second->is_leaving)
    return kill(*at->second,
                ending(ending::aborted, fmt::format("it was cancelled in stage {}", stage_)));
  if (!is_last()) tell(stage_ + 1, hop(hop_kind::cancel, id));
}

void pipeline_core::kill(pipeline_item& item, ending end) {
  if (item.end.is_early() || item.is_leaving) return;
  item.end = std::move(end);
  item.is_cancelled.store(true, std::memory_order_relaxed);
  if (item.call) item.call->cancel();
  if (item.has_turn) return tell_kill(item);
  std::erase(waiting_, &item);
  fire(item.turn);
}

// -- whose turn it is

bool pipeline_core::has_room() const noexcept {
  return running_ < options_.concurrent() && not_taken_ < options_.credits() &&
         (!is_first() || static_cast<int>(in_flight_.size()) < in_flight_max_);
}

void pipeline_core::schedule() {
  if (!is_running_) return;
  if (!leads()) {
    give_granted_turns();
  } else {
    auto const later = [](pipeline_item const* a, pipeline_item const* b) {
      return a->priority != b->priority ? a->priority < b->priority : a->arrival > b->arrival;
    };
    while (!waiting_.empty() && has_room()) give_turn(**std::ranges::max_element(waiting_, later));
  }
  fetch_ahead();
}

void pipeline_core::give_turn(pipeline_item& item) {
  std::erase(waiting_, &item);
  item.has_turn = true;
  ++running_;
  if (is_first()) in_flight_.insert(item.id);
  if (has_peers() && leads()) {
    item.answers_missing = peers_.size() - 1;
    tell_peers(hop(hop_kind::run, item.id));
  }
  fire(item.turn);
}

void pipeline_core::fetch_ahead() {
  if (is_first()) return;
  auto fetched = std::ranges::count_if(waiting_, [](auto const* i) { return i->arriving.valid(); });
  while (fetched < options_.credits()) {
    pipeline_item* best = nullptr;
    for (auto* const i : waiting_)
      if (!i->arriving.valid() && (best == nullptr || i->priority > best->priority)) best = i;
    if (best == nullptr) return;
    fetch(*best);
    ++fetched;
  }
}

void pipeline_core::fetch(pipeline_item& item) {
  op_options o;
  o.tag(tag_of(data_tag, item.id));
  item.arriving = stages_.recv(group_rank(stage_ - 1), o, site_);
}

// -- the end

void pipeline_core::close_later() {
  if (!is_first() || closing_.exchange(true)) return;
  on_strand([self = shared_from_this()] {
    self->is_closing_ = true;
    self->farewell_if_closing();
  });
}

void pipeline_core::farewell_if_closing() {
  if (is_running_ && is_closing_ && !is_over_ && book_.empty()) say_farewell();
}

void pipeline_core::say_farewell() {
  is_over_ = true;
  if (count_ > 1) farewells_.push_back(tell((stage_ + 1) % count_, hop(hop_kind::close, 0)));
  if (has_peers()) {
    for (int r = 0; r < peers_.size(); ++r)
      if (r != peers_.rank().value() && (leads() || r == 0))
        farewells_.push_back(
            peers_.send_object(hop(hop_kind::close, 0), group_rank(r), word_options(), site_));
  }
  fire(over_);
}

void pipeline_core::abandon() {
  closing_.store(true);
  if (has_ended_.load()) return;
  on_strand([self = shared_from_this()] {
    self->tasks_.cancel();
    self->book_.end_all(
        ending(static_cast<std::int32_t>(errc::group_closed), "the pipeline was dropped"));
  });
}

void pipeline_core::end_open(std::exception_ptr const& why) {
  is_over_ = true;
  auto e = ending::of(why);
  e.story = fmt::format("run() of stage {} ended: {}", stage_, e.story);
  book_.end_all(e);
}

asio::awaitable<void> pipeline_core::begin_running(core_ptr self) {
  self->is_running_ = true;
  self->schedule();
  self->farewell_if_closing();
  co_return;
}

asio::awaitable<void> pipeline_core::wait_for_end(core_ptr self) {
  auto over = self->over_->get_work();
  co_await std::move(over);
  for (auto& f : self->farewells_) co_await std::move(f);
}

asio::awaitable<void> pipeline_core::run() {
  auto const self = shared_from_this();
  if (ran_.exchange(true))
    throw error(errc::invalid_argument,
                fmt::format("pipeline::run: stage {} of {} runs, or has run", stage_, label_));
  tasks_.spawn(strand_, wait_for_end(self));
  if (count_ > 1) tasks_.spawn(strand_, listen(self));
  if (has_peers()) tasks_.spawn(strand_, listen_to_peers(self));
  tasks_.spawn(strand_, begin_running(self));
  std::exception_ptr why;
  try {
    auto joined = tasks_.join();
    co_await std::move(joined);
  } catch (...) {
    why = std::current_exception();
  }
  bool const said_farewell = is_over_.exchange(true);
  has_ended_.store(true);
  if (!why && !said_farewell)
    why = std::make_exception_ptr(error(
        errc::group_closed,
        fmt::format("pipeline::run: stage {} of {} was dropped while it ran", stage_, label_)));
  if (why) {
    on_strand([self, why] { self->end_open(why); });
    auto const reason =
        fmt::format("the pipeline ended in stage {}: {}", stage_, ending::of(why).story);
    stages_.revoke(reason);
    peers_.revoke(reason);
  }
  stages_.close_channel();
  peers_.close_channel();
  if (why) std::rethrow_exception(why);
}

pipeline_report pipeline_core::report() const {
  std::lock_guard const lock(report_mutex_);
  return report_;
}

}  // namespace hocket::detail
