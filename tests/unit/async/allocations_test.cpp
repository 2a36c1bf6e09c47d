// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <hocket/async/event.hpp>
#include <hocket/async/promise.hpp>
#include <hocket/async/when_all.hpp>
#include <hocket/async/when_any.hpp>
#include <optional>

#include "async_support.hpp"
#include "count_allocations.hpp"

namespace asio = boost::asio;
using boost::system::error_code;
using namespace hocket;
using namespace hocket_test;

#ifndef HOCKET_SANITIZED

namespace {

constexpr int n = 1000;

// The first half warms pools and lists up, the second is counted, without the end.
class steady_state {
 public:
  void at(int i) {
    if (i == n / 2) before_ = allocations();
    if (i == n - 1) after_ = allocations();
  }
  [[nodiscard]] std::size_t counted() const { return after_ - before_; }

 private:
  std::size_t before_ = 0;
  std::size_t after_ = ~std::size_t{0};
};

asio::awaitable<void> ready_awaits(std::size_t& seen) {
  auto const ex = co_await asio::this_coro::executor;
  steady_state s;
  for (int i = 0; i < n; ++i) {
    s.at(i);
    auto w = ready(ex, i);
    co_await work(w);
    co_await std::move(w);
  }
  seen = s.counted();
}

struct rally {
  std::optional<promise<int>> promises[2];
  work<int> works[2];
};

// Each await is pending when it starts; the other player completes it.
asio::awaitable<void> player(rally& r, std::size_t me, std::size_t& seen) {
  auto const ex = co_await asio::this_coro::executor;
  steady_state s;
  for (int i = 0; i < n; ++i) {
    s.at(i);
    auto w = std::move(r.works[me]);
    co_await std::move(w);
    r.promises[me].emplace(ex);
    r.works[me] = r.promises[me]->get_work();
    r.promises[1 - me]->set(i);
  }
  seen = s.counted();
}

asio::awaitable<void> combined_awaits(std::size_t& seen) {
  auto const ex = co_await asio::this_coro::executor;
  steady_state s;
  for (int i = 0; i < n; ++i) {
    s.at(i);
    promise<int> a(ex), b(ex);
    auto all = when_all(a.get_work(), b.get_work());
    auto any = when_any(a.get_work(), b.get_work());
    a.set(1);
    b.set(2);
    co_await std::move(all);
    co_await std::move(any);
  }
  seen = s.counted();
}

}  // namespace

TEST_CASE("awaiting a ready handle allocates nothing") {
  asio::io_context ctx(1);
  std::size_t seen = 1;
  asio::co_spawn(ctx, ready_awaits(seen), rethrow);
  ctx.run();
  CHECK(seen == 0);
}

TEST_CASE("awaiting a handle that is completed on the same thread allocates nothing") {
  asio::io_context ctx(1);
  rally r;
  for (std::size_t i : {0U, 1U}) {
    r.promises[i].emplace(ctx.get_executor());
    r.works[i] = r.promises[i]->get_work();
  }
  std::size_t first = 1, second = 1;
  asio::co_spawn(ctx, player(r, 0, first), rethrow);
  asio::co_spawn(ctx, player(r, 1, second), rethrow);
  asio::post(ctx, [&] { r.promises[0]->set(0); });
  ctx.run();
  CHECK(first + second == 0);
}

TEST_CASE("a callback allocates nothing, also when it is cancelled and seen as an error_code") {
  asio::io_context ctx(1);
  steady_state s;
  int calls = 0;
  for (int i = 0; i < n; ++i) {
    s.at(i);
    promise<int> p(ctx.get_executor());
    auto w = p.get_work();
    w.async_wait([&calls](error_code, int) { ++calls; });
    if (i % 2 == 0) w.get_canceller().cancel();
    p.set(1);
    ctx.restart();
    ctx.poll();
  }
  CHECK(s.counted() == 0);
  CHECK(calls == n);
}

TEST_CASE("when_all and when_any of a few handles allocate nothing") {
  asio::io_context ctx(1);
  std::size_t seen = 1;
  asio::co_spawn(ctx, combined_awaits(seen), rethrow);
  ctx.run();
  CHECK(seen == 0);
}

TEST_CASE("posted, released and event waits allocate nothing") {
  asio::io_context ctx(1);
  steady_state s;
  int calls = 0;
  auto const count = [&calls](error_code) { ++calls; };
  for (int i = 0; i < n; ++i) {
    s.at(i);
    promise<int> p(ctx.get_executor());
    auto w = p.get_work();
    w.posted().async_wait(count);
    w.released().async_wait(count);
    event(w).wait().async_wait(count);
    p.set(1);
    ctx.restart();
    ctx.poll();
  }
  CHECK(s.counted() == 0);
  CHECK(calls == 3 * n);
}

TEST_CASE("the counter sees allocations of Asio and of operator new") {
  static void* volatile kept = nullptr;  // or the compiler drops the whole pair
  auto const before = allocations();
  kept = new int(3);
  delete static_cast<int*>(kept);
  kept = std::malloc(3);
  std::free(kept);
  kept = std::aligned_alloc(64, 64);
  std::free(kept);
  CHECK(allocations() - before == 3);
}

#endif
