// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <deque>
#include <exception>
#include <hocket/async/promise.hpp>
#include <hocket/async/work.hpp>
#include <hocket/detail/sanitized.hpp>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "long_mode.hpp"

/// What the tests of the async layer share.
namespace hocket_test {

/// A limit of a blocking wait that only a hang reaches.
inline constexpr auto long_enough = std::chrono::seconds(60);

/// Completion handler of a coroutine that must not fail.
inline void rethrow(std::exception_ptr e) {
  if (e) std::rethrow_exception(e);
}

/// The code a settled handle fails with; none if it succeeds.
template <class T>
boost::system::error_code code_of(hocket::work<T> const& w) {
  try {
    w.get(long_enough);
  } catch (boost::system::system_error const& e) {
    return e.code();
  }
  return {};
}

/// `n` in a plain build, a twentieth of it under sanitizers, tenfold with HOCKET_TEST_LONG=1.
inline int rounds(int n) {
#ifdef HOCKET_SANITIZED
  n /= 20;
#endif
  return hocket::test::is_long_mode() ? 10 * n : n;
}

/// A thread that completes the promises it is given, in order.
class completer {
 public:
  ~completer() {
    {
      std::lock_guard const lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void set_later(hocket::promise<int> p, int value) {
    {
      std::lock_guard const lock(mutex_);
      queue_.emplace_back(std::move(p), value);
    }
    changed_.notify_one();
  }
  /// A handle on what the thread will set.
  hocket::work<int> later(boost::asio::any_io_executor const& ex, int value) {
    hocket::promise<int> p(ex);
    auto w = p.get_work();
    set_later(std::move(p), value);
    return w;
  }

 private:
  void loop() {
    for (std::unique_lock lock(mutex_);;) {
      changed_.wait(lock, [this] { return stop_ || !queue_.empty(); });
      if (queue_.empty()) return;
      auto next = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      next.first.set(next.second);
      lock.lock();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<hocket::promise<int>, int>> queue_;
  bool stop_ = false;
  std::thread thread_{[this] { loop(); }};
};

/// A coroutine type without an await_transform: starts at once and owns its frame.
class eager_task {
 public:
  struct promise_type {
    eager_task get_return_object() {
      return eager_task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  eager_task(eager_task&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
  eager_task& operator=(eager_task&&) = delete;
  ~eager_task() {
    if (frame_) frame_.destroy();
  }
  bool done() const { return frame_.done(); }

 private:
  explicit eager_task(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  std::coroutine_handle<promise_type> frame_;
};

/// A settled handle.
inline hocket::work<int> ready(boost::asio::any_io_executor const& ex, int value) {
  hocket::promise<int> p(ex);
  auto w = p.get_work();
  p.set(value);
  return w;
}

/// Counts its live objects and can be told to throw when it is copied.
class counted {
 public:
  counted() noexcept { ++alive; }
  explicit counted(int v) noexcept : value(v) { ++alive; }
  counted(counted const& other) : value(other.value) {
    if (throws) throw std::runtime_error("the copy of a counted value failed");
    ++alive;
    ++copies;
  }
  counted(counted&& other) noexcept : value(other.value) {
    other.value = 0;
    ++alive;
  }
  counted& operator=(counted other) noexcept {
    std::swap(value, other.value);
    return *this;
  }
  ~counted() { --alive; }

  int value = 0;
  static inline std::atomic<int> alive{0};
  static inline std::atomic<int> copies{0};
  static inline std::atomic<bool> throws{false};
};

}  // namespace hocket_test
