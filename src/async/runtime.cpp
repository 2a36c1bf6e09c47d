// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <pthread.h>

#include <atomic>
#include <hocket/async/detail/timer_queue.hpp>
#include <hocket/async/runtime.hpp>
#include <mutex>
#include <optional>
#include <thread>
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
    wake();
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
  void wake() noexcept { sleeper_.wake(); }
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
  void loop() {
    for (;;) {
      bool more = false;
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

  runtime_options const options_;
  boost::intrusive_ptr<timer_queue> timers_;
  turn_mutex turn_;
  std::atomic<int> visitors_{0};
  std::vector<progress_source*> sources_;
  sleeper sleeper_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> running_{false};
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
detail::timer_queue& runtime::timers() noexcept { return core_->timers(); }

}  // namespace hocket
