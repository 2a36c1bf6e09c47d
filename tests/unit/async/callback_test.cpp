// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <hocket/async/promise.hpp>
#include <hocket/error.hpp>
#include <vector>

#include "async_support.hpp"

namespace asio = boost::asio;
using boost::system::error_code;
using namespace hocket;
using namespace hocket_test;

TEST_CASE("a callback is never called inside the initiation, even for a ready handle") {
  asio::io_context ctx;
  auto w = ready(ctx.get_executor(), 3);
  int calls = 0;
  w.async_wait([&](error_code, int v) { calls += v; });
  w([&](std::exception_ptr, int v) { calls += v; });
  CHECK(calls == 0);
  ctx.run();
  CHECK(calls == 6);
}

TEST_CASE(
    "a pending wait is outstanding work of its handler's context, an unwatched operation not") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  auto w = p.get_work();
  CHECK(ctx.run() == 0);
  ctx.restart();
  int got = 0;
  w.async_wait([&](error_code, int v) { got = v; });
  std::thread other([p = std::move(p)]() mutable { p.set(5); });
  ctx.run();
  CHECK(got == 5);
  other.join();
}

TEST_CASE("use_future gets the value while another thread runs the context") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  auto f = p.get_work()(asio::use_future);
  auto g = p.get_work().async_wait(asio::use_future);
  p.set(7);
  ctx.run();
  CHECK(f.get() == 7);
  CHECK(g.get() == 7);
}

TEST_CASE("bound executors decide where the handler runs") {
  asio::io_context home;
  asio::io_context other;
  asio::thread_pool pool(2);
  auto strand = asio::make_strand(pool);
  auto any_strand = asio::make_strand(asio::any_io_executor(other.get_executor()));
  promise<int> p(home.get_executor());
  auto w = p.get_work();
  std::atomic<int> right{0};
  w.async_wait(asio::bind_executor(
      strand, [&](error_code, int) { right += strand.running_in_this_thread(); }));
  w.async_wait(asio::bind_executor(pool.get_executor(), [&](error_code, int) {
    right += pool.get_executor().running_in_this_thread();
  }));
  w.async_wait(asio::bind_executor(
      other, [&](error_code, int) { right += other.get_executor().running_in_this_thread(); }));
  w.async_wait(asio::bind_executor(
      any_strand, [&](error_code, int) { right += any_strand.running_in_this_thread(); }));
  p.set(1);
  home.run();
  other.run();
  pool.join();
  CHECK(right == 4);
}

TEST_CASE("a handler on the system's threads is called") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  std::promise<int> got;
  p.get_work().async_wait(
      asio::bind_executor(asio::system_executor(), [&](error_code, int v) { got.set_value(v); }));
  p.set(9);
  ctx.run();
  CHECK(got.get_future().get() == 9);
}

TEST_CASE("an operation without a context delivers to handlers that have one and to the system") {
  auto w = make_ready_work<int>(nullptr, 5);
  CHECK(w.get(long_enough) == 5);
  asio::io_context ctx;
  int here = 0;
  w.async_wait(asio::bind_executor(ctx, [&](error_code, int v) { here = v; }));
  ctx.run();
  CHECK(here == 5);
  std::promise<int> got;
  w.async_wait([&](error_code, int v) { got.set_value(v); });
  CHECK(got.get_future().get() == 5);
}

TEST_CASE("an operation on a strand is delivered on its context, its handlers on the strand") {
  asio::io_context ctx;
  auto strand = asio::make_strand(ctx);
  promise<int> p(strand);
  bool right = false;
  p.get_work().async_wait(asio::bind_executor(
      strand, [&](error_code, int v) { right = v == 6 && strand.running_in_this_thread(); }));
  p.set(6);
  ctx.run();
  CHECK(right);
}

TEST_CASE("a context first met through an executor that counts as its work still runs out of it") {
  asio::io_context ctx;
  auto w = make_ready_work<int>(nullptr, 5);
  int got = 0;
  w.async_wait(asio::bind_executor(
      asio::require(ctx.get_executor(), asio::execution::outstanding_work.tracked),
      [&](error_code, int v) { got = v; }));
  ctx.run_for(long_enough);
  CHECK(got == 5);
  CHECK(ctx.stopped());
}

TEST_CASE("handlers of any size and type are stored") {
  asio::io_context ctx;
  asio::io_context other;
  promise<int> p(ctx.get_executor());
  auto w = p.get_work();
  std::array<int, 50> big{};
  big[49] = 1;
  int sum = 0;
  w.async_wait([&sum, big](error_code, int v) { sum += v + big[49]; });
  using erased = asio::any_completion_handler<void(error_code, int)>;
  erased plain([&sum](error_code, int v) { sum += v; });
  w.async_wait(std::move(plain));
  erased bound(asio::bind_executor(other, [&sum](error_code, int v) { sum += v; }));
  w.async_wait(std::move(bound));
  p.set(10);
  ctx.run();
  CHECK(sum == 21);
  other.run();
  CHECK(sum == 31);
}

TEST_CASE("an erased handler bound to a context that dies is destroyed with it") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  auto const alive = std::make_shared<int>(0);
  {
    asio::io_context other;
    asio::any_completion_handler<void(error_code, int)> bound(
        asio::bind_executor(other, [alive](error_code, int) { FAIL("called"); }));
    p.get_work().async_wait(std::move(bound));
  }
  CHECK(alive.use_count() == 1);
  p.set(1);
  ctx.run();
}

TEST_CASE("a handler that throws leaves through run() and loses no other handler") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  auto w = p.get_work();
  int calls = 0;
  for (int i = 0; i < 5; ++i)
    w.async_wait([&](error_code, int) {
      ++calls;
      throw 1;
    });
  p.set(1);
  for (int i = 1; i <= 5; ++i) {
    CHECK_THROWS_AS(ctx.run(), int);
    CHECK(calls == i);
  }
  ctx.run();
  CHECK(calls == 5);
}

TEST_CASE("a handler that blocks on a pool does not hold up the others") {
  asio::thread_pool pool(2);
  promise<int> p(pool.get_executor());
  auto w = p.get_work();
  std::promise<void> second;
  std::atomic<bool> seen{false};
  w.async_wait([&](error_code, int) {
    seen = second.get_future().wait_for(long_enough) == std::future_status::ready;
  });
  w.async_wait([&](error_code, int) { second.set_value(); });
  p.set(1);
  pool.join();
  CHECK(seen);
}

TEST_CASE(
    "a blocking handler delays no other in a context that two threads have just begun to run") {
  for (bool const together : {true, false}) {  // ready at once, or while the first one blocks
    asio::io_context ctx;
    promise<int> p(ctx.get_executor());
    promise<int> q(ctx.get_executor());
    std::promise<void> blocks, called;
    auto was_called = called.get_future();
    bool in_time = false;
    p.get_work().async_wait([&](error_code, int) {
      blocks.set_value();
      in_time = was_called.wait_for(long_enough) == std::future_status::ready;
    });
    q.get_work().async_wait([&](error_code, int) { called.set_value(); });
    p.set(1);
    if (together) q.set(1);
    std::thread first([&] { ctx.run(); });
    std::thread second([&] { ctx.run(); });
    blocks.get_future().wait();
    if (!together) q.set(1);
    first.join();
    second.join();
    CHECK(in_time);
  }
}

TEST_CASE("a stopped context calls at most one batch more and loses nothing") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  auto w = p.get_work();
  int calls = 0;
  for (int i = 0; i < 500; ++i)
    w.async_wait([&](error_code, int) {
      ++calls;
      ctx.stop();
    });
  p.set(1);
  ctx.run();
  CHECK(calls <= 64);
  while (calls < 500) {
    ctx.restart();
    if (ctx.run() == 0) break;
  }
  CHECK(calls == 500);
}

TEST_CASE("handlers of one handle are called in the order of their waits") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  auto w = p.get_work();
  std::vector<int> order;
  for (int i = 0; i < 200; ++i) w.async_wait([&order, i](error_code, int) { order.push_back(i); });
  p.set(1);
  ctx.run();
  REQUIRE(order.size() == 200);
  for (int i = 0; i < 200; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}
