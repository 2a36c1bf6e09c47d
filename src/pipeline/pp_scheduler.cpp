// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <deque>
#include <hocket/async/detail/then.hpp>
#include <hocket/async/promise.hpp>
#include <hocket/error.hpp>
#include <hocket/parallel/model_parallel.hpp>
#include <hocket/pipeline/pp_scheduler.hpp>
#include <map>
#include <mutex>
#include <utility>

#include "parallel/parallel_core.hpp"

namespace hocket {
namespace detail {

/// One channel of the stages, and the receives begun ahead on it.
class pp_queue {
 public:
  /// `w`: what messages go over.
  pp_queue(std::uint64_t id, process_group g, process_group w)
      : group(std::move(g)), wire(std::move(w)), id_(id) {}
  ~pp_queue() {
    withdraw();
    if (group.is_disabled()) wire.close_channel();
  }
  pp_queue(pp_queue const&) = delete;
  pp_queue& operator=(pp_queue const&) = delete;

  process_group const group;
  /// Of a single stage it is another group, in which it sends to itself.
  process_group const wire;

  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  void close() const {
    if (id_ != 0) wire.close_channel();
  }
  void push(work<tensor> w) {
    std::lock_guard const lock(mutex_);
    ahead_.push_back(std::move(w));
  }
  [[nodiscard]] work<tensor> pop(std::source_location site) {
    {
      std::lock_guard const lock(mutex_);
      if (!ahead_.empty()) {
        auto oldest = std::move(ahead_.front());
        ahead_.pop_front();
        return oldest;
      }
    }
    return failed_work<tensor>(errc::invalid_argument, "queue_irecv_prev_data",
                               fmt::format("on {} channel {} no receive is queued, "
                                           "queue_irecv_prev comes first",
                                           wire.label(), id_),
                               site);
  }
  [[nodiscard]] std::size_t size() {
    std::lock_guard const lock(mutex_);
    return ahead_.size();
  }
  /// Gives back the messages that are not matched yet.
  void withdraw() {
    std::deque<work<tensor>> dropped;
    {
      std::lock_guard const lock(mutex_);
      dropped = std::exchange(ahead_, {});
    }
    for (auto const& w : dropped) w.get_canceller().cancel();
  }

 private:
  std::uint64_t const id_;
  std::mutex mutex_;
  std::deque<work<tensor>> ahead_;
};

// Channels of the world's group on which single stages send to themselves: no id of a program's own
// is as high.
constexpr std::uint64_t loop_channels = std::uint64_t{1} << 62;

class pp_scheduler_core {
 public:
  explicit pp_scheduler_core(process_group g) : stages_(std::move(g)) {}
  /// A state's; the only stage of a state sends to itself over the world's group.
  pp_scheduler_core(process_group g, std::shared_ptr<parallel_core> const& state)
      : stages_(std::move(g)) {
    if (!stages_.is_disabled()) return;
    state_ = state;
    if (auto const home = state->home.lock()) loop_ = world(home).group();
  }

  [[nodiscard]] std::shared_ptr<pp_queue> open(std::uint64_t id) {
    std::lock_guard const lock(mutex_);
    auto& queue = queues_[id];
    if (!queue) queue = make(id);
    return queue;
  }
  void close(pp_queue const& queue) {
    if (queue.id() == 0) return;
    std::lock_guard const lock(mutex_);
    if (auto const at = queues_.find(queue.id()); at != queues_.end() && at->second.get() == &queue)
      queues_.erase(at);
  }
  /// Whether the state that lent the world's group has ended: the group goes on.
  [[nodiscard]] bool is_over() const {
    if (loop_.is_disabled()) return false;
    auto const state = state_.lock();
    return !state || !state->live();
  }

 private:
  [[nodiscard]] std::shared_ptr<pp_queue> make(std::uint64_t id) const {
    auto const own = id == 0 ? stages_ : stages_.channel(id);
    auto const wire = loop_.is_disabled() ? own : loop_.channel(loop_channels | id);
    return std::make_shared<pp_queue>(id, own, wire);
  }

  process_group const stages_;
  process_group loop_;
  std::weak_ptr<parallel_core> state_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<pp_queue>> queues_;
};

}  // namespace detail

namespace {

// The directions share a channel, so their messages are told apart by the tag's top bits.
constexpr std::uint64_t forwards = std::uint64_t{1} << 62;
constexpr std::uint64_t backwards = std::uint64_t{1} << 63;

// One stage's calls.
class stage_wire {
 public:
  stage_wire(detail::pp_queue const& q, bool is_over) : queue_(q), is_over_(is_over) {}

  [[nodiscard]] process_group const& group() const noexcept { return queue_.wire; }
  [[nodiscard]] bool is_over() const noexcept { return is_over_; }
  [[nodiscard]] group_rank after(int steps) const {
    auto const& ring = queue_.group;
    if (ring.is_disabled()) return group().rank();
    int const n = ring.size();
    return group_rank((ring.rank().value() + steps + n) % n);
  }

 private:
  detail::pp_queue const& queue_;
  bool const is_over_;
};

// One call in one direction. A wrong tag or a missing group fails the handle, as in the group.
template <class T, class Call>
work<T> directed(stage_wire const& at, std::uint64_t direction, op_options const& options,
                 char const* name, std::source_location site, Call call) {
  auto const& g = at.group();
  if (g.is_disabled())
    return detail::failed_work<T>(errc::invalid_argument, name,
                                  "there is one stage, and no state to lend it a way to itself",
                                  site);
  if (at.is_over())
    return detail::failed_work<T>(errc::group_closed, name,
                                  "the state of this only stage was destroyed", site);
  if (options.tag() >= forwards)
    return detail::failed_work<T>(
        errc::invalid_argument, name,
        fmt::format("on {} tag {} is not below 2^62", g.label(), options.tag()), site);
  op_options directed_options(options);
  directed_options.tag(options.tag() | direction);
  return call(directed_options);
}

work<> send(stage_wire const& at, tensor t, std::uint64_t direction, op_options const& options,
            char const* name, std::source_location site) {
  return directed<void>(at, direction, options, name, site, [&](op_options const& o) {
    return at.group().send(std::move(t), at.after(direction == forwards ? 1 : -1), o, site);
  });
}

group_rank sender(stage_wire const& at, std::uint64_t direction) {
  return at.after(direction == forwards ? -1 : 1);
}

work<> receive_into(stage_wire const& at, tensor buffer, std::uint64_t direction,
                    op_options const& options, char const* name, std::source_location site) {
  return directed<void>(at, direction, options, name, site, [&](op_options const& o) {
    return at.group().recv(std::move(buffer), sender(at, direction), o, site);
  });
}

work<tensor> receive(stage_wire const& at, std::uint64_t direction, op_options const& options,
                     char const* name, std::source_location site) {
  return directed<tensor>(at, direction, options, name, site, [&](op_options const& o) {
    return at.group().recv(sender(at, direction), o, site);
  });
}

stage_wire wire_of(detail::pp_queue const& q, detail::pp_scheduler_core const& c) {
  return stage_wire(q, c.is_over());
}

work<tensor> expecting(work<tensor> w, shape const& extents, dtype type) {
  return detail::then(w, [extents, type, op = w.state().get()](tensor t) {
    if (t.shape() == extents && t.dtype() == type) return t;
    throw error(errc::mismatch, fmt::format("{}: expected {}{}, got {}", to_string(op->info()),
                                            name_of(type), to_string(extents), brief(t)));
  });
}

}  // namespace

PPScheduler::PPScheduler(process_group stages)
    : PPScheduler(std::make_shared<detail::pp_scheduler_core>(std::move(stages))) {}
PPScheduler::PPScheduler(std::shared_ptr<detail::pp_scheduler_core> c)
    : core_(std::move(c)), queue_(core_->open(0)) {}

PPScheduler PPScheduler::on(std::uint64_t channel_id) const {
  auto other = *this;
  other.queue_ = core_->open(channel_id);
  return other;
}

void PPScheduler::close_channel() const {
  queue_->withdraw();
  core_->close(*queue_);
  queue_->close();
}

process_group const& PPScheduler::group() const noexcept { return queue_->group; }

work<> PPScheduler::isend_next(tensor t, op_options const& options,
                               std::source_location site) const {
  return send(wire_of(*queue_, *core_), std::move(t), forwards, options, "isend_next", site);
}
work<> PPScheduler::isend_prev(tensor t, op_options const& options,
                               std::source_location site) const {
  return send(wire_of(*queue_, *core_), std::move(t), backwards, options, "isend_prev", site);
}

work<> PPScheduler::irecv_prev(tensor buffer, op_options const& options,
                               std::source_location site) const {
  return receive_into(wire_of(*queue_, *core_), std::move(buffer), forwards, options, "irecv_prev",
                      site);
}
work<> PPScheduler::irecv_next(tensor buffer, op_options const& options,
                               std::source_location site) const {
  return receive_into(wire_of(*queue_, *core_), std::move(buffer), backwards, options, "irecv_next",
                      site);
}

work<tensor> PPScheduler::recv_prev_data(op_options const& options,
                                         std::source_location site) const {
  return receive(wire_of(*queue_, *core_), forwards, options, "recv_prev_data", site);
}
work<tensor> PPScheduler::recv_prev_data(shape const& extents, dtype type,
                                         op_options const& options,
                                         std::source_location site) const {
  return expecting(recv_prev_data(options, site), extents, type);
}
work<tensor> PPScheduler::recv_next_data(op_options const& options,
                                         std::source_location site) const {
  return receive(wire_of(*queue_, *core_), backwards, options, "recv_next_data", site);
}

void PPScheduler::queue_irecv_prev(op_options const& options, std::source_location site) const {
  queue_->push(recv_prev_data(options, site));
}
void PPScheduler::queue_irecv_prev(shape const& extents, dtype type, op_options const& options,
                                   std::source_location site) const {
  queue_->push(recv_prev_data(extents, type, options, site));
}
work<tensor> PPScheduler::queue_irecv_prev_data(std::source_location site) const {
  return queue_->pop(site);
}
std::size_t PPScheduler::queued() const { return queue_->size(); }

PPScheduler init_pp_scheduler(ParallelState const& state) {
  auto made = std::make_shared<detail::pp_scheduler_core>(state.pp_group(), state.core());
  PPScheduler scheduler(made);
  state.core()->set_scheduler(std::move(made));
  return scheduler;
}
PPScheduler init_pp_scheduler() { return init_pp_scheduler(parallel_state()); }

PPScheduler pp_scheduler(ParallelState const& state) {
  return PPScheduler(state.core()->scheduler());
}
PPScheduler pp_scheduler() { return pp_scheduler(parallel_state()); }

}  // namespace hocket
