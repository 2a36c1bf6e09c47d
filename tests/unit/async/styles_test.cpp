// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <hocket/async/as_result.hpp>
#include <hocket/async/promise.hpp>
#include <hocket/error.hpp>
#include <string>
#include <variant>

#include "async_support.hpp"

namespace asio = boost::asio;
using namespace hocket;
using namespace hocket_test;
using namespace asio::experimental::awaitable_operators;

namespace {

asio::awaitable<void> direct_forms(completer& c, int& sum) {
  auto const ex = co_await asio::this_coro::executor;
  auto a = c.later(ex, 1);
  sum += co_await work(a);
  sum += co_await work(a);
  sum += co_await std::move(a);
  auto b = c.later(ex, 10);
  sum += co_await b(asio::use_awaitable);
  auto [error, value] = co_await b(asio::as_tuple(asio::use_awaitable));
  sum += error ? 0 : value;
  auto [code, again] = co_await b.async_wait(asio::as_tuple(asio::use_awaitable));
  sum += code ? 0 : again;
}

asio::awaitable<void> deferred_forms(completer& c, int& sum) {
  auto const ex = co_await asio::this_coro::executor;
  auto w = c.later(ex, 6);
  auto first = w(asio::deferred);
  auto second = w.async_wait(asio::deferred);
  sum += co_await std::move(first);
  sum += co_await std::move(second);
}

asio::awaitable<void> operators(completer& c, int& sum) {
  auto const ex = co_await asio::this_coro::executor;
  auto a = c.later(ex, 7);
  auto b = c.later(ex, 8);
  auto [x, y] = co_await (a(asio::use_awaitable) && b(asio::use_awaitable));
  sum += x + y;
  promise<int> p(ex);
  auto pending = p.get_work();
  auto soon = c.later(ex, 9);
  auto winner = co_await (pending(asio::use_awaitable) || soon(asio::use_awaitable));
  sum += winner.index() == 1 ? std::get<1>(winner) : 0;
  p.set(10);  // a slot ended one wait, not the operation
  sum += co_await std::move(pending);
}

asio::awaitable<void> groups(completer& c, asio::thread_pool& pool, int& sum) {
  auto const ex = co_await asio::this_coro::executor;
  auto a = c.later(ex, 1);
  auto b = c.later(ex, 2);
  auto both = asio::experimental::make_parallel_group(std::move(a), std::move(b));
  auto [o1, e1, v1, e2, v2] = co_await both.async_wait(asio::experimental::wait_for_all(),
                                                       asio::as_tuple(asio::use_awaitable));
  sum += !e1 && !e2 ? v1 + v2 : 0;
  promise<int> never(pool.get_executor());
  auto stuck = never.get_work();
  auto soon = c.later(ex, 4);
  auto one = asio::experimental::make_parallel_group(std::move(stuck), std::move(soon));
  auto [o2, e3, v3, e4, v4] = co_await one.async_wait(asio::experimental::wait_for_one(),
                                                      asio::as_tuple(asio::use_awaitable));
  sum += e3 && !e4 && o2[0] == 1 ? v4 : 0;
  static_cast<void>(o1[0] + static_cast<std::size_t>(v3));
}

asio::awaitable<void> two_executors(completer& c, asio::thread_pool& pool, int n, int& wrong) {
  auto const ex = co_await asio::this_coro::executor;
  for (int i = 0; i < n; ++i) {
    auto a = c.later(pool.get_executor(), 1);
    auto b = c.later(ex, 1);
    auto group = asio::experimental::make_parallel_group(std::move(a), std::move(b));
    auto [order, e1, v1, e2, v2] = co_await group.async_wait(asio::experimental::wait_for_one(),
                                                             asio::as_tuple(asio::use_awaitable));
    bool const right = v1 == (e1 ? 0 : 1) && v2 == (e2 ? 0 : 1) && v1 + v2 > 0;
    if (!right) ++wrong;
    static_cast<void>(order);
  }
}

asio::awaitable<void> results(work<int> good, work<int> bad, work<> nothing, int& sum) {
  auto g = co_await good.async_wait(as_result());
  sum += g.has_value() ? *g : 0;
  auto b = co_await bad.async_wait(as_result(asio::use_awaitable));
  CHECK(b.has_error());
  CHECK(b.error() == errc::peer_lost);
  auto n = co_await nothing.async_wait(as_result());
  CHECK(n.has_value());
  auto e = co_await bad(as_result());
  CHECK(e.has_error());
  CHECK_THROWS_AS(std::rethrow_exception(e.error()), error);
}

asio::awaitable<void> many_waiters(work<std::string> w, std::size_t& sum) {
  auto const value = co_await std::move(w);
  sum += value.size();
}

asio::awaitable<void> empty_handle_forms(int& errors) {
  work<int> w;
  work<int> moved(std::move(w));
  try {
    co_await std::move(moved);
  } catch (error const& e) {
    errors += e.code() == errc::invalid_argument;
  }
  auto [code, value] = co_await moved.async_wait(asio::as_tuple(asio::use_awaitable));
  errors += code == errc::invalid_argument && value == 0;
}

}  // namespace

TEST_CASE("one handle is awaited again and again, with and without use_awaitable") {
  asio::io_context ctx;
  completer c;
  int sum = 0;
  asio::co_spawn(ctx, direct_forms(c, sum), rethrow);
  ctx.run();
  CHECK(sum == 33);
}

TEST_CASE("deferred waits run when they are awaited") {
  asio::io_context ctx;
  completer c;
  int sum = 0;
  asio::co_spawn(ctx, deferred_forms(c, sum), rethrow);
  ctx.run();
  CHECK(sum == 12);
}

TEST_CASE("the operators of awaitables combine waits, and a lost one leaves the operation alone") {
  asio::io_context ctx;
  completer c;
  int sum = 0;
  asio::co_spawn(ctx, operators(c, sum), rethrow);
  ctx.run();
  CHECK(sum == 34);
}

TEST_CASE("parallel groups take handles as operations") {
  asio::io_context ctx;
  asio::thread_pool pool(1);
  completer c;
  int sum = 0;
  asio::co_spawn(ctx, groups(c, pool, sum), rethrow);
  ctx.run();
  CHECK(sum == 7);
}

TEST_CASE("a parallel group over two executors gives each wait exactly one outcome") {
  asio::io_context ctx;
  asio::thread_pool pool(1);
  completer c;
  int wrong = 0;
  asio::co_spawn(ctx, two_executors(c, pool, rounds(2000), wrong), rethrow);
  ctx.run();
  CHECK(wrong == 0);
}

TEST_CASE("as_result gives a value or its error and throws nothing") {
  asio::io_context ctx;
  promise<int> good(ctx.get_executor()), bad(ctx.get_executor());
  promise<> nothing(ctx.get_executor());
  int sum = 0;
  asio::co_spawn(ctx, results(good.get_work(), bad.get_work(), nothing.get_work(), sum), rethrow);
  ctx.poll();
  good.set(5);
  bad.fail(errc::peer_lost, "rank 1");
  nothing.set();
  ctx.run();
  CHECK(sum == 5);
}

TEST_CASE("a thousand coroutines wait for one handle and each gets its own value") {
  asio::io_context ctx;
  promise<std::string> p(ctx.get_executor());
  std::size_t sum = 0;
  for (int i = 0; i < 1000; ++i) asio::co_spawn(ctx, many_waiters(p.get_work(), sum), rethrow);
  ctx.poll();
  p.set(std::string(33, 'x'));
  ctx.run();
  CHECK(sum == 33000);
}

TEST_CASE("an empty handle is an error of every wait and never a crash") {
  asio::io_context ctx;
  int errors = 0;
  asio::co_spawn(ctx, empty_handle_forms(errors), rethrow);
  ctx.run();
  CHECK(errors == 2);
  CHECK(code_of(work<int>()) == errc::invalid_argument);
  CHECK(work<int>().ready());
  CHECK_FALSE(work<int>().valid());
  work<>().get_canceller().cancel();
  CHECK(!work<>().posted().valid());
  CHECK(!work<>().released().valid());
}
