// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <atomic>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <cstdint>
#include <hocket/async/clock.hpp>
#include <hocket/async/promise.hpp>
#include <hocket/async/runtime.hpp>
#include <hocket/detail/block_pool.hpp>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket {

/// An execution context for simulation: one thread, and the next function to run is drawn from all
/// ready ones by a seeded generator. Equal programs with equal seeds interleave equally. Time is
/// virtual: it stands still while anything is ready and then jumps to the next sleep or deadline,
/// so that late peers and deadlines of hours take no time.
///
///     seeded_context ctx(seed);
///     local_world ranks(ctx.get_executor(), 4, local_world_options().runtime(ctx.get_runtime()));
///     ranks.spawn(rank_main);      // sleeps by `co_await ctx.sleep(10ms)`
///     ctx.run();
///
/// Everything must stay on this context: other threads would bring their own order. Not
/// thread-safe.
class seeded_context : public boost::asio::execution_context {
 public:
  class executor_type;

  /// Equal seeds draw equally.
  explicit seeded_context(std::uint64_t seed);
  ~seeded_context();

  /// Handlers on it run in `run()`, in the order of the draws.
  [[nodiscard]] executor_type get_executor() noexcept;
  /// A runtime without a thread on the virtual clock.
  [[nodiscard]] runtime& get_runtime() noexcept { return runtime_; }
  /// The virtual time.
  [[nodiscard]] clock const& get_clock() const noexcept { return clock_; }
  /// For the message of a failed test: the run replays from it.
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

  /// Done when that much virtual time has passed.
  [[nodiscard]] work<> sleep(clock::duration d,
                             std::source_location site = std::source_location::current());

  /// Runs until nothing is ready and nothing is left to wait for. Returns how many functions ran.
  std::size_t run();

  /// A hash over all draws so far: equal for equal interleavings.
  [[nodiscard]] std::uint64_t interleaving() const noexcept { return interleaving_; }

 private:
  struct ready : detail::pooled {
    virtual ~ready() = default;
    virtual void run() = 0;
  };
  template <class F>
  struct ready_call final : ready {
    F function;
    explicit ready_call(F f) : function(std::move(f)) {}
    void run() override { std::move(function)(); }
  };

  std::unique_ptr<ready> draw();
  [[nodiscard]] bool pass_time();

  std::uint64_t const seed_;
  std::mt19937_64 generator_;
  std::uint64_t interleaving_ = 0xcbf29ce484222325u;
  manual_clock clock_;
  runtime runtime_;
  std::atomic<std::thread::id> runner_{};  // in run()
  std::vector<std::unique_ptr<ready>> ready_;
  std::multimap<clock::time_point, promise<>> sleeps_;
};

/// Queues functions on its context; never runs one inside `execute`.
class seeded_context::executor_type {
 public:
  /// @cond
  explicit executor_type(seeded_context& c) noexcept : context_(&c) {}

  template <class F>
  void execute(F&& f) const {
    using call = ready_call<std::decay_t<F>>;
    context_->ready_.push_back(std::make_unique<call>(std::forward<F>(f)));
  }
  [[nodiscard]] boost::asio::execution_context& query(
      boost::asio::execution::context_t) const noexcept {
    return *context_;
  }
  [[nodiscard]] static constexpr boost::asio::execution::blocking_t query(
      boost::asio::execution::blocking_t) noexcept {
    return boost::asio::execution::blocking_t(boost::asio::execution::blocking.never);
  }
  [[nodiscard]] executor_type require(boost::asio::execution::blocking_t::never_t) const noexcept {
    return *this;
  }
  /// True inside a function that the context runs on this thread.
  [[nodiscard]] bool running_in_this_thread() const noexcept {
    return context_->runner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  friend bool operator==(executor_type const& a, executor_type const& b) noexcept {
    return a.context_ == b.context_;
  }
  friend bool operator!=(executor_type const& a, executor_type const& b) noexcept {
    return !(a == b);
  }
  /// @endcond

 private:
  seeded_context* context_;
};

inline seeded_context::executor_type seeded_context::get_executor() noexcept {
  return executor_type(*this);
}

}  // namespace hocket
