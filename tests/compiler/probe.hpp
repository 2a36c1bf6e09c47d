// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// The least a coroutine needs, and a value that knows when it is destroyed twice.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace probe {

/// Counts its objects. A second destructor call is only counted: it frees nothing, so a program
/// that shows the fault goes on.
class counted {
 public:
  counted() noexcept : counted(0) {}
  explicit counted(int value) noexcept : value_(value) { ++alive_; }
  counted(counted const& other) noexcept : value_(other.value_) { ++alive_; }
  counted(counted&& other) noexcept : value_(std::exchange(other.value_, 0)) { ++alive_; }
  counted& operator=(counted const&) = default;
  ~counted() { --alive_; }

  [[nodiscard]] int value() const noexcept { return value_; }
  /// Constructed minus destroyed: below zero after a second destruction.
  [[nodiscard]] static int alive() noexcept { return alive_; }
  static void reset() noexcept { alive_ = 0; }

 private:
  static inline int alive_ = 0;
  int value_;
};

/// A lazy coroutine; awaiting it runs it, and it resumes its awaiter.
template <class T>
class task {
 public:
  struct promise_type;
  using handle = std::coroutine_handle<promise_type>;

  struct resume_awaiter {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(handle h) const noexcept { return h.promise().awaiter; }
    void await_resume() const noexcept {}
  };

  struct promise_type {
    std::optional<T> result;
    std::exception_ptr failure;
    std::coroutine_handle<> awaiter = std::noop_coroutine();

    task get_return_object() { return task(handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    resume_awaiter final_suspend() noexcept { return {}; }
    template <class U>
    void return_value(U&& value) {
      result.emplace(std::forward<U>(value));
    }
    void unhandled_exception() { failure = std::current_exception(); }
  };

  explicit task(handle h) noexcept : handle_(h) {}
  task(task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  task& operator=(task&&) = delete;
  ~task() {
    if (handle_) handle_.destroy();
  }

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiter) noexcept {
    handle_.promise().awaiter = awaiter;
    return handle_;
  }
  T await_resume() {
    if (handle_.promise().failure) std::rethrow_exception(handle_.promise().failure);
    return std::move(*handle_.promise().result);
  }

  void start() { handle_.resume(); }

 private:
  handle handle_;
};

/// Suspends for real, so that temporaries move into the coroutine's frame.
struct suspend_once {
  static inline std::coroutine_handle<> waiting;
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) const noexcept { waiting = h; }
  void await_resume() const noexcept {}
};

enum class verdict { clean, destroyed_twice, leaked, wrong_value };

/// Runs one coroutine to its end and says what became of its `counted` values.
inline verdict judge(task<int> (*coroutine)(), int expected) {
  counted::reset();
  int value = 0;
  {
    auto t = coroutine();
    t.start();
    while (suspend_once::waiting) std::exchange(suspend_once::waiting, {}).resume();
    value = t.await_resume();
  }
  if (counted::alive() < 0) return verdict::destroyed_twice;
  if (counted::alive() > 0) return verdict::leaked;
  return value == expected ? verdict::clean : verdict::wrong_value;
}

struct probe_case {
  char const* form;
  task<int> (*run)();
  int expected;
};

}  // namespace probe
