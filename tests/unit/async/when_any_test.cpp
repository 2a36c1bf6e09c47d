// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <hocket/async/promise.hpp>
#include <hocket/async/when_all.hpp>
#include <hocket/async/when_any.hpp>
#include <hocket/error.hpp>
#include <string>
#include <variant>

#include "async_support.hpp"

namespace asio = boost::asio;
using namespace hocket;
using namespace hocket_test;

namespace {

asio::awaitable<void> first_of(work<int> a, work<std::string> b, work<> c, std::size_t& index) {
  auto const winner = co_await when_any(std::move(a), std::move(b), std::move(c));
  index = winner.index();
}

asio::awaitable<void> first_of_many(std::vector<work<int>> works, int& out) {
  auto const [index, value] = co_await when_any(std::move(works));
  out = static_cast<int>(index) * 100 + value;
}

}  // namespace

TEST_CASE("when_any tells which came first and the others run on") {
  asio::io_context ctx;
  promise<int> a(ctx.get_executor());
  promise<std::string> b(ctx.get_executor());
  promise<> c(ctx.get_executor());
  std::size_t index = 9;
  auto loser = a.get_work();
  asio::co_spawn(ctx, first_of(loser, b.get_work(), c.get_work(), index), rethrow);
  ctx.poll();
  b.set("x");
  ctx.run();
  CHECK(index == 1);
  CHECK(!loser.ready());
  a.set(3);
  c.set();
  CHECK(loser.get(long_enough) == 3);
}

TEST_CASE("when_any of a vector gives index and value") {
  asio::io_context ctx;
  std::vector<promise<int>> ps;
  std::vector<work<int>> works;
  for (int i = 0; i < 5; ++i) works.push_back(ps.emplace_back(ctx.get_executor()).get_work());
  int out = 0;
  asio::co_spawn(ctx, first_of_many(works, out), rethrow);
  ctx.poll();
  ps[3].set(7);
  ps[1].set(8);
  ctx.run();
  CHECK(out == 307);
}

TEST_CASE("when_any of ready handles takes the first argument") {
  asio::io_context ctx;
  auto a = ready(ctx.get_executor(), 1);
  auto b = ready(ctx.get_executor(), 2);
  auto const winner = when_any(a, b).get(long_enough);
  CHECK(winner.index() == 0);
  CHECK(std::get<0>(winner) == 1);
  CHECK(when_any(std::vector<work<>>{make_ready_work(nullptr)}).get(long_enough) == 0);
}

TEST_CASE("when_any fails if the first to settle failed, or an argument is empty") {
  asio::io_context ctx;
  promise<int> a(ctx.get_executor()), b(ctx.get_executor());
  auto any = when_any(a.get_work(), b.get_work());
  b.fail(errc::peer_lost, "rank 3");
  CHECK(code_of(any) == errc::peer_lost);
  CHECK(code_of(when_any(a.get_work(), work<int>())) == errc::invalid_argument);
  CHECK(code_of(when_any(std::vector<work<int>>())) == errc::invalid_argument);
}

TEST_CASE("a slow handle keeps nothing of the many when_any it lost") {
  asio::io_context ctx;
  promise<counted> slow(ctx.get_executor());
  auto const never = slow.get_work();
  int const before = counted::alive;
  for (int i = 0; i < 100; ++i) {
    promise<counted> p(ctx.get_executor());
    auto any = when_any(never, p.get_work());
    p.set(counted(i));
    CHECK(std::get<1>(any.get(long_enough)).value == i);
  }
  CHECK(counted::alive == before);
}

TEST_CASE("a when_any has one winner, whoever settles at the same time") {
  asio::io_context ctx;
  completer c, d;
  for (int i = 0; i < rounds(2000); ++i) {
    auto a = c.later(ctx.get_executor(), 1);
    auto b = d.later(ctx.get_executor(), 2);
    auto both = when_all(a, b);
    auto const winner = when_any(a, b).get(long_enough);
    bool const right = winner.index() == 0 ? std::get<0>(winner) == 1 : std::get<1>(winner) == 2;
    CHECK(right);
    CHECK(both.get(long_enough) == std::tuple<int, int>(1, 2));
  }
}
