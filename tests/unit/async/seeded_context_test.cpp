// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include <hocket/async/seeded_context.hpp>
#include <string>

namespace asio = boost::asio;
using namespace hocket;
using namespace std::chrono_literals;

namespace {

std::string order_with(std::uint64_t seed) {
  seeded_context ctx(seed);
  std::string order;
  for (char c = 'a'; c <= 'j'; ++c) asio::post(ctx.get_executor(), [&order, c] { order += c; });
  CHECK(ctx.run() == 10);
  return order;
}

asio::awaitable<void> late(seeded_context& ctx, clock::duration d, char name, std::string& order) {
  co_await ctx.sleep(d);
  order += name;
}

asio::awaitable<void> deadline(seeded_context& ctx, std::string& order) {
  promise<> never(ctx.get_executor());
  auto w = never.get_work();
  ctx.get_runtime().handle().arm(*w.state(), 2h);
  try {
    co_await work<>(w);
  } catch (error const& e) {
    if (e.code() == errc::timed_out) order += 't';
  }
  never.set();
}

}  // namespace

TEST_CASE("equal seeds give one order, other seeds other orders") {
  CHECK(order_with(1) == order_with(1));
  CHECK(order_with(1) != order_with(2));
  CHECK(order_with(7).size() == 10);
}

TEST_CASE("sleeps end in the order of virtual time, and so do deadlines") {
  seeded_context ctx(3);
  std::string order;
  asio::co_spawn(ctx.get_executor(), late(ctx, 3h, 'c', order), asio::detached);
  asio::co_spawn(ctx.get_executor(), deadline(ctx, order), asio::detached);
  asio::co_spawn(ctx.get_executor(), late(ctx, 1ms, 'a', order), asio::detached);
  asio::co_spawn(ctx.get_executor(), late(ctx, 1h, 'b', order), asio::detached);
  ctx.run();
  CHECK(order == "abtc");
  CHECK(ctx.get_clock().now().time_since_epoch() == 3h);
}

TEST_CASE("a context may die with functions queued and sleepers waiting") {
  auto alive = std::make_shared<int>(1);
  {
    seeded_context ctx(5);
    std::string order;
    asio::co_spawn(ctx.get_executor(), late(ctx, 1h, 'x', order), asio::detached);
    asio::post(ctx.get_executor(), [alive] {});
  }
  CHECK(alive.use_count() == 1);
}
