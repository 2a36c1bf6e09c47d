// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <hocket/async/promise.hpp>
#include <hocket/async/task_group.hpp>
#include <hocket/error.hpp>
#include <memory>
#include <optional>

#include "async_support.hpp"

namespace asio = boost::asio;
using boost::system::error_code;
using namespace hocket;
using namespace hocket_test;

namespace {

asio::awaitable<void> add(work<int> w, std::atomic<int>& sum) { sum += co_await std::move(w); }

asio::awaitable<void> fail_after(work<int> w, errc code) {
  co_await std::move(w);
  throw error(code, "a child failed");
}

asio::awaitable<void> wait_for_ever(work<int> w, std::shared_ptr<int> alive, int& aborted) {
  try {
    co_await std::move(w);
  } catch (error const& e) {
    aborted += e.code() == operation_aborted();
    static_cast<void>(alive);
    throw;
  }
}

asio::awaitable<void> spawn_more(task_group& g, int depth, work<int> w, std::atomic<int>& sum) {
  sum += co_await work(w);
  if (depth > 0) g.spawn(spawn_more(g, depth - 1, w, sum));
}

asio::awaitable<void> parent(asio::any_io_executor ex, work<int> w, std::atomic<int>& sum,
                             error_code& outcome) {
  task_group g(ex);
  for (int i = 0; i < 5; ++i) g.spawn(add(w, sum));
  try {
    co_await g.join();
  } catch (error const& e) {
    outcome = e.code();
  }
  sum += 100;
}

}  // namespace

TEST_CASE("join() waits for every child") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  std::atomic<int> sum{0};
  error_code outcome;
  asio::co_spawn(ctx, parent(ctx.get_executor(), p.get_work(), sum, outcome), rethrow);
  ctx.poll();
  CHECK(sum == 0);
  p.set(3);
  ctx.run();
  CHECK(sum == 115);
  CHECK(!outcome);
}

TEST_CASE("the first error of a child cancels the others and is the error of join()") {
  asio::io_context ctx;
  promise<int> go(ctx.get_executor()), never(ctx.get_executor());
  int aborted = 0;
  task_group g(ctx.get_executor());
  for (int i = 0; i < 3; ++i) g.spawn(wait_for_ever(never.get_work(), nullptr, aborted));
  g.spawn(fail_after(go.get_work(), errc::mismatch));
  auto joined = g.join();
  ctx.poll();
  CHECK(g.size() == 4);
  go.set(1);
  ctx.run();
  CHECK(aborted == 3);
  CHECK(g.size() == 0);
  CHECK(code_of(joined) == errc::mismatch);
  CHECK(code_of(g.join()) == errc::mismatch);
  CHECK_FALSE(never.get_work().ready());
}

TEST_CASE("a cancelled group ends without an error and starts no more children") {
  asio::io_context ctx;
  promise<int> never(ctx.get_executor());
  auto const alive = std::make_shared<int>(0);
  int aborted = 0;
  task_group g(ctx.get_executor());
  g.spawn(wait_for_ever(never.get_work(), alive, aborted));
  ctx.poll();
  g.cancel();
  g.spawn(wait_for_ever(never.get_work(), alive, aborted));
  auto joined = g.join();
  ctx.restart();
  ctx.run();
  CHECK(aborted == 1);
  CHECK(alive.use_count() == 1);
  CHECK(!code_of(joined));
  CHECK_THROWS_AS(g.spawn(wait_for_ever(never.get_work(), alive, aborted)), error);
}

TEST_CASE("a cancelled parent cancels the children, waits for them and then ends") {
  asio::io_context ctx;
  promise<int> never(ctx.get_executor());
  std::atomic<int> sum{0};
  error_code outcome;
  asio::cancellation_signal signal;
  asio::co_spawn(ctx, parent(ctx.get_executor(), never.get_work(), sum, outcome),
                 asio::bind_cancellation_slot(signal.slot(), rethrow));
  ctx.poll();
  signal.emit(asio::cancellation_type::terminal);
  ctx.run();
  CHECK(outcome == operation_aborted());
  CHECK(sum == 100);
}

TEST_CASE("a group destroyed with children alive cancels them and they end later") {
  asio::io_context ctx;
  promise<int> never(ctx.get_executor());
  auto const alive = std::make_shared<int>(0);
  int aborted = 0;
  {
    task_group g(ctx.get_executor());
    for (int i = 0; i < 3; ++i) g.spawn(wait_for_ever(never.get_work(), alive, aborted));
    ctx.poll();
  }
  CHECK(alive.use_count() == 4);
  ctx.restart();
  ctx.run();
  CHECK(aborted == 3);
  CHECK(alive.use_count() == 1);
}

TEST_CASE("a context that dies ends its children, and join() elsewhere says so") {
  std::optional<promise<int>> never;
  auto const alive = std::make_shared<int>(0);
  int aborted = 0;
  std::optional<task_group> g;
  work<> joined;
  {
    asio::io_context ctx;
    never.emplace(ctx.get_executor());
    g.emplace(ctx.get_executor());
    for (int i = 0; i < 3; ++i) g->spawn(wait_for_ever(never->get_work(), alive, aborted));
    joined = g->join();
    ctx.poll();
  }
  CHECK(alive.use_count() == 1);
  CHECK(aborted == 0);
  CHECK(code_of(joined) == errc::group_closed);
  g.reset();
}

TEST_CASE("children spawn their siblings while they are joined") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  std::atomic<int> sum{0};
  task_group g(ctx.get_executor());
  g.spawn(spawn_more(g, 100, p.get_work(), sum));
  auto joined = g.join();
  CHECK(!joined.ready());
  p.set(1);
  ctx.run();
  CHECK(sum == 101);
  CHECK(!code_of(joined));
}

TEST_CASE("children on a pool run and are cancelled on strands of their own") {
  for (int round = 0; round < rounds(400); ++round) {
    asio::thread_pool pool(2);
    completer c;
    promise<int> never(pool.get_executor());
    std::atomic<int> sum{0};
    int aborted[2] = {0, 0};
    task_group g(pool.get_executor());
    for (int i = 0; i < 8; ++i) g.spawn(add(c.later(pool.get_executor(), 1), sum));
    for (auto& a : aborted) g.spawn(wait_for_ever(never.get_work(), nullptr, a));
    g.spawn(fail_after(c.later(pool.get_executor(), 1), errc::corrupt));
    CHECK(code_of(g.join()) == errc::corrupt);
    CHECK(aborted[0] <= 1);
    CHECK(sum <= 8);
  }
}

TEST_CASE("a group without an executor is refused") {
  asio::any_io_executor const none;
  CHECK_THROWS_AS(task_group{none}, error);
}
