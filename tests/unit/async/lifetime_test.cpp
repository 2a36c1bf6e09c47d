// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <hocket/async/promise.hpp>
#include <hocket/error.hpp>
#include <memory>
#include <optional>

#include "async_support.hpp"

namespace asio = boost::asio;
using boost::system::error_code;
using namespace hocket;
using namespace hocket_test;

namespace {

asio::awaitable<void> never_resumed(work<int> w, std::shared_ptr<int>) {
  co_await std::move(w);
  FAIL("resumed");
}

asio::awaitable<void> keep(work<int> w, int& out) {
  out = co_await work(w);
  out += co_await std::move(w);
}

asio::awaitable<void> hold(work<counted> w, int& sum) {
  auto const v = co_await std::move(w);
  sum += v.value;
}

asio::awaitable<void> expect_throw(work<counted> w, int& throws) {
  try {
    co_await std::move(w);
  } catch (std::runtime_error const&) {
    ++throws;
  }
}

}  // namespace

TEST_CASE(
    "a context that dies destroys its handlers uncalled and the operation finishes detached") {
  auto const alive = std::make_shared<int>(0);
  std::optional<promise<int>> p;
  work<int> kept;
  {
    asio::io_context ctx;
    p.emplace(ctx.get_executor());
    kept = p->get_work();
    asio::co_spawn(ctx, never_resumed(kept, alive), asio::detached);
    kept.async_wait([alive](error_code, int) { FAIL("called"); });
    kept.async_wait(
        asio::bind_executor(asio::make_strand(ctx), [alive](error_code, int) { FAIL("called"); }));
    ctx.poll();
    CHECK(alive.use_count() == 4);
  }
  CHECK(alive.use_count() == 1);
  p->set(3);
  CHECK(kept.get(long_enough) == 3);
}

TEST_CASE("after its context died an operation gives its result to handlers that have another") {
  auto const alive = std::make_shared<int>(0);
  std::optional<promise<int>> p;
  work<int> kept;
  {
    asio::io_context ctx;
    p.emplace(ctx.get_executor());
    kept = p->get_work();
  }
  asio::io_context other;  // may have the address of the dead one
  int got = 0;
  asio::co_spawn(other, keep(kept, got), rethrow);
  auto f = kept(asio::use_future);
  kept.async_wait([alive](error_code, int) { FAIL("called"); });
  CHECK(alive.use_count() == 1);
  other.poll();
  p->set(4);
  other.run();
  CHECK(got == 8);
  CHECK(f.get() == 4);
}

TEST_CASE("a result that was not delivered yet dies with its context") {
  auto const alive = std::make_shared<int>(0);
  {
    asio::io_context ctx;
    promise<int> p(ctx.get_executor());
    asio::co_spawn(ctx, never_resumed(p.get_work(), alive), asio::detached);
    asio::post(ctx, [&ctx, p = std::move(p), alive]() mutable {
      p.set(1);
      ctx.stop();
    });
    ctx.run();
    CHECK(alive.use_count() == 2);
  }
  CHECK(alive.use_count() == 1);
}

TEST_CASE("contexts of handler and operation die in any order") {
  for (bool const home_first : {false, true}) {
    CAPTURE(home_first);
    auto const alive = std::make_shared<int>(0);
    auto home = std::make_unique<asio::io_context>();
    auto other = std::make_unique<asio::io_context>();
    promise<int> p(home->get_executor());
    auto w = p.get_work();
    int calls = 0;
    w.async_wait(asio::bind_executor(*other, [&calls, alive](error_code, int) { ++calls; }));
    w.async_wait([&calls, alive](error_code, int) { ++calls; });
    (home_first ? home : other).reset();
    CHECK(alive.use_count() == 2);
    p.set(1);
    if (home) home->run();
    if (other) other->run();
    CHECK(calls == 1);
    CHECK(alive.use_count() == 1);
  }
}

TEST_CASE("handlers that start new waits while their context dies are destroyed too") {
  struct restart {
    work<int> w;
    asio::io_context* ctx;
    ~restart() {
      if (w.valid())
        w.async_wait(asio::bind_executor(*ctx, [](error_code, int) { FAIL("called"); }));
    }
  };
  std::optional<promise<int>> p;
  {
    asio::io_context ctx;
    p.emplace(ctx.get_executor());
    auto const again = std::make_shared<restart>(restart{p->get_work(), &ctx});
    p->get_work().async_wait([again](error_code, int) { FAIL("called"); });
  }
  p->set(1);
}

TEST_CASE("contexts die while another thread completes their operations") {
  completer c;
  auto const alive = std::make_shared<int>(0);
  for (int i = 0; i < rounds(4000); ++i) {
    asio::io_context ctx;
    promise<int> p(ctx.get_executor());
    auto w = p.get_work();
    w.async_wait([alive](error_code, int) {});
    if (i % 2 == 0) asio::co_spawn(ctx, never_resumed(w, alive), asio::detached);
    c.set_later(std::move(p), 1);
    if (i % 3 == 0) std::this_thread::yield();
  }
  CHECK(alive.use_count() == 1);
}

TEST_CASE("a dropped promise fails its waits with group_closed") {
  asio::io_context ctx;
  work<int> w;
  {
    promise<int> p(ctx.get_executor());
    w = p.get_work();
  }
  CHECK(code_of(w) == errc::group_closed);
}

TEST_CASE("every constructed value is destroyed, whatever became of its waits") {
  int const before = counted::alive;
  int sum = 0;
  {
    asio::io_context ctx;
    std::vector<promise<counted>> ps;
    for (int i = 0; i < 50; ++i) {
      auto& p = ps.emplace_back(ctx.get_executor());
      auto w = p.get_work();
      for (int k = 0; k < i % 4; ++k) asio::co_spawn(ctx, hold(w, sum), rethrow);
      if (i % 7 == 3) w.async_wait([](error_code, counted) {});
    }
    ctx.poll();
    for (auto& p : ps) p.set(counted(1));
    ctx.poll_one();
    ctx.poll();
  }
  CHECK(counted::alive == before);
  CHECK(sum == 12 * (1 + 2 + 3) + 1);
}

TEST_CASE("the last waiter takes the value without a copy, others copy it") {
  asio::io_context ctx;
  int sum = 0;
  promise<counted> one(ctx.get_executor()), two(ctx.get_executor());
  asio::co_spawn(ctx, hold(one.get_work(), sum), rethrow);
  ctx.poll();
  int const before = counted::copies;
  one.set(counted(1));
  ctx.restart();
  ctx.poll();
  CHECK(counted::copies == before);
  asio::co_spawn(ctx, hold(two.get_work(), sum), rethrow);
  asio::co_spawn(ctx, hold(two.get_work(), sum), rethrow);
  two.set(counted(1));
  ctx.restart();
  ctx.run();
  CHECK(counted::copies == before + 1);
  CHECK(sum == 3);
}

TEST_CASE("a copy that throws is the error of its waiter alone") {
  asio::io_context ctx;
  promise<counted> p(ctx.get_executor());
  auto w = p.get_work();
  int throws = 0;
  error_code code;
  asio::co_spawn(ctx, expect_throw(w, throws), rethrow);
  w.async_wait([&code](error_code e, counted) { code = e; });
  ctx.poll();
  p.set(counted(9));
  counted::throws = true;
  ctx.run();
  counted::throws = false;
  CHECK(throws == 1);
  CHECK(code == errc::out_of_memory);
  CHECK(w.get(long_enough).value == 9);
}
