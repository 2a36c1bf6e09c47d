// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// What does one await cost? Every case against a plain `asio::post` awaited in the same run.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <condition_variable>
#include <coroutine>
#include <cstdio>
#include <functional>
#include <hocket/async/promise.hpp>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "../support/rounds.hpp"
#include "count_allocations.hpp"

namespace asio = boost::asio;
using namespace hocket;

namespace {

constexpr int many = 200'000;
constexpr int few = 4'000;
constexpr int window = 256;

void rethrow(std::exception_ptr e) {
  if (e) std::rethrow_exception(e);
}

// Runs one coroutine to its end.
void run(asio::io_context& ctx, asio::awaitable<void> coroutine) {
  asio::co_spawn(ctx, std::move(coroutine), rethrow);
  ctx.restart();
  ctx.run();
}

work<int> ready(detail::port_ptr const& at, int value) {
  promise<int> p(at);
  auto w = p.get_work();
  p.set(value);
  return w;
}

asio::awaitable<void> posts(int n) {
  for (int i = 0; i < n; ++i) co_await asio::post(asio::use_awaitable);
}

asio::awaitable<void> same_handle(work<int> w, int n) {
  for (int i = 0; i < n; ++i) co_await work(w);
}

asio::awaitable<void> fresh_handles(detail::port_ptr at, int n) {
  for (int i = 0; i < n; ++i) {
    auto w = ready(at, i);
    co_await std::move(w);
  }
}

struct rally {
  std::optional<promise<int>> promises[2];
  work<int> works[2];
};

// Each await is pending when it starts; the other coroutine completes it.
asio::awaitable<void> player(detail::port_ptr at, rally& r, std::size_t me, int n) {
  for (int i = 0; i < n; ++i) {
    auto w = std::move(r.works[me]);
    co_await std::move(w);
    r.promises[me].emplace(at);
    r.works[me] = r.promises[me]->get_work();
    r.promises[1 - me]->set(i);
  }
}

template <class Executor>
void play(asio::io_context& ctx, Executor const& ex, detail::port_ptr const& at) {
  rally r;
  for (std::size_t i : {0U, 1U}) {
    r.promises[i].emplace(at);
    r.works[i] = r.promises[i]->get_work();
  }
  asio::co_spawn(ex, player(at, r, 0, many / 2), rethrow);
  asio::co_spawn(ex, player(at, r, 1, many / 2), rethrow);
  asio::post(ctx, [&r] { r.promises[0]->set(0); });
  ctx.restart();
  ctx.run();
}

// A thread that completes what it is given, in order.
class other_thread {
 public:
  ~other_thread() {
    {
      std::lock_guard const lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void set_later(promise<int> p) {
    {
      std::lock_guard const lock(mutex_);
      ring_[in_++ % ring_.size()].emplace(std::move(p));
    }
    changed_.notify_one();
  }

 private:
  void loop() {
    for (std::unique_lock lock(mutex_);;) {
      changed_.wait(lock, [this] { return stop_ || in_ != out_; });
      if (in_ == out_) return;
      auto& place = ring_[out_++ % ring_.size()];
      promise<int> p = std::move(*place);
      place.reset();
      lock.unlock();
      p.set(1);
      lock.lock();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<promise<int>>> ring_{4 * window};
  std::size_t in_ = 0;
  std::size_t out_ = 0;
  bool stop_ = false;
  std::thread thread_{[this] { loop(); }};
};

asio::awaitable<void> foreign(other_thread& other, detail::port_ptr at, int n, int at_once) {
  std::vector<work<int>> works(static_cast<std::size_t>(at_once));
  for (int i = 0; i < n; i += at_once) {
    for (auto& w : works) {
      promise<int> p(at);
      w = p.get_work();
      other.set_later(std::move(p));
    }
    for (auto& w : works) co_await std::move(w);
  }
}

struct eager_task {
  struct promise_type {
    eager_task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

eager_task native_same_handle(work<int> w, int n) {
  for (int i = 0; i < n; ++i) bench::keep(co_await w);
}

void callbacks(asio::io_context& ctx, detail::port_ptr const& at, int n) {
  int calls = 0;
  for (int i = 0; i < n; ++i) {
    promise<int> p(at);
    p.get_work().async_wait([&calls](boost::system::error_code, int) { ++calls; });
    p.set(1);
    ctx.restart();
    ctx.poll();
  }
  bench::keep(calls);
}

class cases {
 public:
  void add(std::string name, int n, std::function<void()> run) {
    list_.push_back({std::move(name), n, std::move(run)});
  }
  void print() const {
    bench::competitors table;
    for (auto const& c : list_) table.add(c.name, c.n, c.run);
    table.print("one await, against a post (allocations per await below)");
    for (auto const& c : list_) {
      auto const before = hocket_test::allocations();
      c.run();
      auto const counted = static_cast<double>(hocket_test::allocations() - before);
      std::printf("  %-58s %12.4f allocations\n", c.name.c_str(), counted / c.n);
    }
  }

 private:
  struct one {
    std::string name;
    int n;
    std::function<void()> run;
  };
  std::vector<one> list_;
};

asio::awaitable<void> wait_once(work<int> w) { co_await std::move(w); }

// Handles in flight: pending, each with a waiter.
void print_sizes(asio::io_context& ctx, detail::port_ptr const& at) {
  constexpr std::size_t n = 100'000;
  std::vector<promise<int>> promises;
  promises.reserve(n);
  auto before = hocket_test::allocated_bytes();
  long done = 0;
  for (std::size_t i = 0; i < n; ++i)
    promises.emplace_back(at).get_work().async_wait(
        [&done](boost::system::error_code, int) { ++done; });
  auto const ours = hocket_test::allocated_bytes() - before;
  for (auto& p : promises) p.set(1);
  ctx.restart();
  ctx.run();
  promises.clear();
  before = hocket_test::allocated_bytes();
  for (std::size_t i = 0; i < n; ++i)
    asio::co_spawn(ctx, wait_once(promises.emplace_back(at).get_work()), rethrow);
  ctx.restart();
  ctx.poll();
  auto const suspended = hocket_test::allocated_bytes() - before;
  for (auto& p : promises) p.set(1);
  ctx.restart();
  ctx.run();
  std::printf("state of one operation: %zu B, of that one waiter %zu B\n",
              sizeof(detail::value_state<int>), sizeof(detail::waiter));
  std::printf("%zu in flight: %.0f B each with a callback; a suspended awaitable adds %.0f B\n", n,
              static_cast<double>(ours) / n, static_cast<double>(suspended) / n);
  bench::keep(done);
}

}  // namespace

int main() {
  asio::io_context ctx(1);
  asio::io_context elsewhere(1);
  other_thread other;
  auto const at = detail::port_of(ctx.get_executor());
  auto const far = detail::port_of(elsewhere.get_executor());
  auto const done = ready(at, 1);
  print_sizes(ctx, at);

  cases c;
  c.add("asio::post, awaited", many, [&] { run(ctx, posts(many)); });
  c.add("ready: the same handle", many, [&] { run(ctx, same_handle(done, many)); });
  c.add("ready: a new operation each, made and dropped", many,
        [&] { run(ctx, fresh_handles(at, many)); });
  c.add("making and dropping the operation only", many, [&] {
    for (int i = 0; i < many; ++i) bench::keep(ready(at, i).ready());
  });
  c.add("ready: from a coroutine type of its own", many, [&] { native_same_handle(done, many); });
  c.add("pending: completed on the same thread", many, [&] { play(ctx, ctx.get_executor(), at); });
  c.add("pending: the same, coroutines on a strand", many,
        [&] { play(ctx, asio::make_strand(ctx), at); });
  c.add("pending: the same, group on another context", many,
        [&] { play(ctx, ctx.get_executor(), far); });
  c.add("pending: a callback, one poll each", many, [&] { callbacks(ctx, at, many); });
  c.add("pending: another thread completes, one at a time", few,
        [&] { run(ctx, foreign(other, at, few, 1)); });
  c.add("pending: another thread completes, 256 in flight", 64 * window,
        [&] { run(ctx, foreign(other, at, 64 * window, window)); });
  c.print();
}
