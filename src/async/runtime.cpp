// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <hocket/async/detail/timer_queue.hpp>
#include <hocket/async/runtime.hpp>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "sleeper.hpp"

namespace hocket {

clock const& clock::steady() noexcept {
  struct machine_clock final : clock {
    time_point now() const noexcept override { return std::chrono::steady_clock::now(); }
  };
  static machine_clock const instance;
  return instance;
}

namespace detail {
namespace {
thread_local bool is_progress_thread = false;
}

bool on_progress_thread() noexcept { return is_progress_thread; }

class runtime_core : public std::enable_shared_from_this<runtime_core> {
 public:
  explicit runtime_core(runtime_options const& options) : options_(options) {}

  void start() {
    timers_ = new timer_queue([weak = weak_from_this()] {
      if (auto const self = weak.lock()) self->wake();
    });
    if (!options_.thread()) return;
    sleeper_.open();
    running_.store(true, std::memory_order_release);
    thread_ = std::thread([this] {
      is_progress_thread = true;
      loop();
    });
    pthread_setname_np(thread_.native_handle(), "hocket-progress");
  }
  void stop() noexcept {
    stopping_.store(true, std::memory_order_relaxed);  // published by wake()
    running_.store(false, std::memory_order_release);
    sleeper_.wake();
    if (thread_.joinable()) thread_.join();
    timers_->close();
    // What was left to the thread while it ended.
    std::lock_guard const turn(turn_);
    for (std::size_t i = 0; i < sources_.size(); ++i)
      while (i < sources_.size() && sources_[i]->progress()) {
      }
  }

  hocket::clock const& clock() const noexcept { return options_.clock(); }
  bool drive() noexcept {
    if (has_thread() || timers_->closed()) return false;
    poll();
    return true;
  }
  bool has_thread() const noexcept { return running_.load(std::memory_order_acquire); }
  timer_queue& timers() noexcept { return *timers_; }

  void arm(op_base& op, hocket::clock::duration limit) {
    if (timers_->closed()) return;  // the clock may be gone, too
    timers_->add(op, from_now(limit));
  }
  bool advance(op_base& op, hocket::clock::duration limit) {
    return !timers_->closed() && timers_->advance(op, from_now(limit));
  }
  void attach(progress_source& s) {
    {
      visitor const lock(*this);
      sources_.push_back(&s);
    }
    wake();
  }
  void detach(progress_source& s) noexcept {
    {
      visitor const lock(*this);
      std::erase(sources_, &s);
    }
    if (s.wake_fd() >= 0) wake();  // a sleeping thread holds its file open
  }
  void wake() noexcept {
    // A read-modify-write: what was published before it is seen by the turn that follows the rest.
    if (rests_.fetch_or(0, std::memory_order_acq_rel) != 0) return;
    sleeper_.wake();
  }
  void begin_loop() noexcept { loops_.fetch_add(1, std::memory_order_acq_rel); }
  void end_loop() noexcept {
    if (loops_.fetch_sub(1, std::memory_order_acq_rel) == 1) sleeper_.wake();
  }
  bool poll_from_loop() {
    loop_turns_.fetch_add(1, std::memory_order_relaxed);
    return poll();
  }
  bool poll() {
    std::unique_lock const turn(turn_, std::try_to_lock);
    return turn && one_turn();
  }

 private:
  [[nodiscard]] hocket::clock::time_point from_now(hocket::clock::duration limit) const {
    auto const now = clock().now();
    auto const last = hocket::clock::time_point::max();
    return limit < last - now ? now + limit : last;
  }

  // A source or a deadline may end an op whose handlers attach or detach sources: hence recursive.
  using turn_mutex = std::recursive_mutex;

  // A busy progress thread would take the mutex again before anybody who waits for it.
  class visitor {
   public:
    explicit visitor(runtime_core& c) : core_(c) {
      core_.visitors_.fetch_add(1, std::memory_order_relaxed);
      core_.turn_.lock();
      core_.visitors_.fetch_sub(1, std::memory_order_relaxed);
    }
    visitor(visitor const&) = delete;
    visitor& operator=(visitor const&) = delete;
    ~visitor() { core_.turn_.unlock(); }

   private:
    runtime_core& core_;
  };

  bool one_turn() {
    bool more = false;
    if (timers_->next()) {
      auto const now = clock().now();
      while (op_ref const op = timers_->pop_due(now)) op->expire();
    }
    for (std::size_t i = 0; i < sources_.size(); ++i) more |= sources_[i]->progress();
    return more;
  }
  // Whether a loop has driven the sources since this was asked last. The thread only.
  bool loop_is_awake() noexcept {
    auto const turns = loop_turns_.load(std::memory_order_relaxed);
    return loops_.load(std::memory_order_acquire) > 0 &&
           std::exchange(loop_turns_seen_, turns) != turns;
  }
  // Leaves the sources to a loop while there is one that looks after them.
  void rest() noexcept {
    if (!loop_is_awake()) return;
    sleeper_.clear();
    rests_.fetch_or(1, std::memory_order_acq_rel);
    do {
      sleeper_.sleep(loop_silence_max);
    } while (!stopping_.load(std::memory_order_relaxed) && loop_is_awake());
    rests_.fetch_and(0, std::memory_order_acq_rel);
  }
  void loop() {
    for (;;) {
      bool more = false;
      rest();
      while (visitors_.load(std::memory_order_relaxed) != 0) std::this_thread::yield();
      {
        std::lock_guard const turn(turn_);
        more = one_turn();
        sleeper_.clear();
        for (auto const* s : sources_)
          if (int const fd = s->wake_fd(); fd >= 0) sleeper_.wait_for(fd);
      }
      if (stopping_.load(std::memory_order_relaxed)) return;
      if (more || sleeper_.take()) continue;
      // The clock may not be the machine's: only the distance means something here.
      std::optional<hocket::clock::duration> away;
      if (auto const next = timers_->next()) away = *next - clock().now();
      sleeper_.sleep(away);
    }
  }

  // Longer than a turn of a loop whose handlers do not compute.
  static constexpr auto loop_silence_max = std::chrono::microseconds(200);

  runtime_options const options_;
  boost::intrusive_ptr<timer_queue> timers_;
  turn_mutex turn_;
  std::atomic<int> visitors_{0};
  std::vector<progress_source*> sources_;
  sleeper sleeper_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> running_{false};
  std::atomic<int> loops_{0};  // that drive the sources
  std::atomic<std::uint64_t> loop_turns_{0};
  std::uint64_t loop_turns_seen_ = 0;
  std::atomic<unsigned> rests_{0};  // the thread leaves the sources to a loop
  std::thread thread_;
};

}  // namespace detail

bool runtime_handle::has_thread() const noexcept { return core_->has_thread(); }
bool runtime_handle::drive() const noexcept { return core_->drive(); }
void runtime_handle::attach(progress_source& source) const { core_->attach(source); }
void runtime_handle::detach(progress_source& source) const noexcept { core_->detach(source); }
void runtime_handle::wake() const noexcept { core_->wake(); }
void runtime_handle::arm(detail::op_base& op, clock::duration limit) const {
  core_->arm(op, limit);
}

bool runtime_handle::advance(detail::op_base& op, clock::duration limit) const {
  return core_->advance(op, limit);
}

runtime::runtime(runtime_options const& options)
    : core_(std::make_shared<detail::runtime_core>(options)) {
  core_->start();
}

runtime::~runtime() { core_->stop(); }

runtime& runtime::process() {
  // Never destroyed: operations may outlive every other static; the thread ends with the process.
  static auto* const instance = new runtime;
  return *instance;
}

hocket::clock const& runtime::clock() const noexcept { return core_->clock(); }
bool runtime::poll() { return core_->poll(); }
void runtime::begin_loop() noexcept { core_->begin_loop(); }
void runtime::end_loop() noexcept { core_->end_loop(); }
bool runtime::poll_from_loop() { return core_->poll_from_loop(); }
detail::timer_queue& runtime::timers() noexcept { return core_->timers(); }

}  // namespace hocket
