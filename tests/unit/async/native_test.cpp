// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <hocket/async/promise.hpp>
#include <hocket/error.hpp>
#include <memory>
#include <optional>

#include "async_support.hpp"

namespace asio = boost::asio;
using namespace hocket;
using namespace hocket_test;

namespace {

eager_task add(work<int> w, int& sum) {
  sum += co_await w;
  sum += co_await std::move(w);
}

eager_task expect_code(work<int> w, boost::system::error_code& code) {
  try {
    co_await std::move(w);
  } catch (error const& e) {
    code = e.code();
  }
}

eager_task never_resumed(work<int> w, std::shared_ptr<int>) {
  co_await std::move(w);
  FAIL("resumed");
}

eager_task count_ready(asio::any_io_executor ex, int n, long& sum) {
  for (int i = 0; i < n; ++i) {
    auto w = ready(ex, i);
    sum += co_await std::move(w);
  }
}

eager_task on_pool(work<int> w, asio::thread_pool& pool, std::atomic<int>& right) {
  int const v = co_await std::move(w);
  if (pool.get_executor().running_in_this_thread()) right = v;
}

}  // namespace

TEST_CASE("a coroutine type of its own awaits a handle twice") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  int sum = 0;
  auto const task = add(p.get_work(), sum);
  CHECK(!task.done());
  p.set(4);
  CHECK(!task.done());  // resumed by the group's executor, not by the completing thread
  ctx.run();
  CHECK(task.done());
  CHECK(sum == 8);
}

TEST_CASE("a coroutine type of its own sees failures, cancellation and empty handles") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor()), q(ctx.get_executor());
  boost::system::error_code a, b, c;
  auto const failed = expect_code(p.get_work(), a);
  auto const cancelled = expect_code(q.get_work(), b);
  auto const empty = expect_code(work<int>(), c);
  p.fail(errc::peer_failed, "no memory");
  q.get_work().get_canceller().cancel();
  ctx.run();
  CHECK(a == errc::peer_failed);
  CHECK(b == operation_aborted());
  CHECK(c == errc::invalid_argument);
}

TEST_CASE("a frame destroyed while it is suspended leaves no wait behind") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  auto const alive = std::make_shared<int>(0);
  {
    auto const gone = never_resumed(p.get_work(), alive);
    CHECK(alive.use_count() == 2);
  }
  CHECK(alive.use_count() == 1);
  CHECK(ctx.run() == 0);
  p.set(1);
}

TEST_CASE("a frame destroyed between completion and resumption is not resumed") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  {
    auto const gone = never_resumed(p.get_work(), nullptr);
    p.set(1);
  }
  ctx.run();
}

TEST_CASE("a frame whose context dies is never resumed and its owner destroys it") {
  auto const alive = std::make_shared<int>(0);
  std::optional<promise<int>> p;
  std::optional<eager_task> task;
  {
    asio::io_context ctx;
    p.emplace(ctx.get_executor());
    task.emplace(never_resumed(p->get_work(), alive));
  }
  CHECK(!task->done());
  p->set(1);
  CHECK(alive.use_count() == 2);
  task.reset();
  CHECK(alive.use_count() == 1);
}

TEST_CASE("ready awaits of a coroutine type of its own never suspend") {
  asio::io_context ctx;
  long sum = 0;
  int const n = rounds(100'000);
  auto const task = count_ready(ctx.get_executor(), n, sum);
  CHECK(task.done());
  CHECK(sum == static_cast<long>(n) * (n - 1) / 2);
}

TEST_CASE("a coroutine type of its own resumes on the pool of its group") {
  asio::thread_pool pool(2);
  promise<int> p(pool.get_executor());
  std::atomic<int> right{0};
  auto const task = on_pool(p.get_work(), pool, right);
  p.set(3);
  pool.join();
  CHECK(right == 3);
}
