// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <hocket/async/promise.hpp>
#include <hocket/async/when_all.hpp>
#include <hocket/error.hpp>
#include <string>

#include "async_support.hpp"

namespace asio = boost::asio;
using namespace hocket;
using namespace hocket_test;

namespace {

asio::awaitable<void> take_all(work<int> a, work<std::string> b, work<> c, std::string& out) {
  auto [x, s, nothing] = co_await when_all(std::move(a), std::move(b), std::move(c));
  out = s + std::to_string(x);
  static_cast<void>(nothing);
}

asio::awaitable<void> take_vector(std::vector<work<int>> works, std::vector<int>& out) {
  out = co_await when_all(std::move(works));
}

asio::awaitable<void> take_twice(work<std::tuple<std::string, int>> w, std::string& out) {
  auto first = co_await work(w);
  auto second = co_await std::move(w);
  out = std::get<0>(first) + std::get<0>(second);
}

asio::awaitable<void> take_nothing(int& done) {
  std::vector<work<int>> none;
  auto values = co_await when_all(std::move(none));
  std::vector<work<>> no_voids;
  co_await when_all(std::move(no_voids));
  done = static_cast<int>(values.size()) + 1;
}

}  // namespace

TEST_CASE("when_all gives every result, in the order of the arguments") {
  asio::io_context ctx;
  promise<int> a(ctx.get_executor());
  promise<std::string> b(ctx.get_executor());
  promise<> c(ctx.get_executor());
  std::string out;
  asio::co_spawn(ctx, take_all(a.get_work(), b.get_work(), c.get_work(), out), rethrow);
  ctx.poll();
  c.set();
  b.set("seven: ");
  ctx.poll();
  CHECK(out.empty());
  a.set(7);
  ctx.run();
  CHECK(out == "seven: 7");
}

TEST_CASE("when_all of a vector keeps the order, whatever finishes first") {
  asio::io_context ctx;
  std::vector<promise<int>> promises;
  std::vector<work<int>> works;
  for (int i = 0; i < 7; ++i) works.push_back(promises.emplace_back(ctx.get_executor()).get_work());
  std::vector<int> out;
  asio::co_spawn(ctx, take_vector(works, out), rethrow);
  for (int i = 6; i >= 0; --i) promises[static_cast<std::size_t>(i)].set(10 * i);
  ctx.run();
  CHECK(out == std::vector<int>{0, 10, 20, 30, 40, 50, 60});
}

TEST_CASE("when_all of nothing is done") {
  asio::io_context ctx;
  int done = 0;
  asio::co_spawn(ctx, take_nothing(done), rethrow);
  ctx.run();
  CHECK(done == 1);
}

TEST_CASE("each waiter of a when_all gets every result") {
  asio::io_context ctx;
  promise<std::string> a(ctx.get_executor());
  promise<int> b(ctx.get_executor());
  std::string out;
  asio::co_spawn(ctx, take_twice(when_all(a.get_work(), b.get_work()), out), rethrow);
  a.set(std::string(40, 'x'));
  b.set(3);
  ctx.run();
  CHECK(out == std::string(80, 'x'));
}

TEST_CASE("when_all waits for every one and then fails as the first argument that failed") {
  asio::io_context ctx;
  promise<int> a(ctx.get_executor()), b(ctx.get_executor()), c(ctx.get_executor());
  auto all = when_all(a.get_work(), b.get_work(), c.get_work());
  c.fail(errc::peer_lost, "third");
  CHECK(!all.ready());
  b.fail(errc::mismatch, "second");
  CHECK(!all.ready());
  a.set(1);
  CHECK(all.ready());
  CHECK_THROWS_WITH_AS(all.get(long_enough), doctest::Contains("second"), error);
}

TEST_CASE("when_all of an empty handle fails, and of only empty handles too") {
  asio::io_context ctx;
  promise<int> a(ctx.get_executor());
  auto all = when_all(a.get_work(), work<int>());
  CHECK(!all.ready());
  a.set(1);
  CHECK(code_of(all) == errc::invalid_argument);
  CHECK(code_of(when_all(work<int>(), work<>())) == errc::invalid_argument);
}

TEST_CASE("cancelling a when_all ends its own waits only") {
  asio::io_context ctx;
  promise<int> a(ctx.get_executor()), b(ctx.get_executor());
  auto first = a.get_work();
  auto all = when_all(first, b.get_work());
  all.get_canceller().cancel();
  CHECK(code_of(all) == operation_aborted());
  CHECK(!first.ready());
  a.set(4);
  b.set(5);
  CHECK(first.get(long_enough) == 4);
}

TEST_CASE("a cancelled part of a when_all is released only when its engine has finished") {
  asio::io_context ctx;
  promise<int> a(ctx.get_executor()), b(ctx.get_executor());
  auto first = a.get_work();
  auto all = when_all(first, b.get_work());
  auto released = all.released();
  first.get_canceller().cancel();
  b.set(5);
  CHECK(code_of(all) == operation_aborted());
  CHECK(!released.ready());
  a.set(4);
  CHECK(released.ready());
}
