// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Does a busy group hold up the rest of the program? A coroutine that should wake every 5 ms runs
// on the same thread as ranks that keep 1,000 operations in flight. Yardstick: the ticker alone.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdio>
#include <hocket/group/local_world.hpp>
#include <vector>

namespace asio = boost::asio;
using namespace hocket;
using namespace std::chrono_literals;

namespace {

constexpr int ticks = 200;
constexpr int in_flight = 1000;

asio::awaitable<void> tick(std::vector<double>& late_ms, bool& over) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  auto next = std::chrono::steady_clock::now();
  for (int i = 0; i < ticks; ++i) {
    next += 5ms;
    timer.expires_at(next);
    co_await timer.async_wait(asio::use_awaitable);
    late_ms.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - next).count());
  }
  over = true;
}

asio::awaitable<void> busy_rank(world w, bool& over, long& done) {
  auto const g = w.group();
  auto const in = tensor::full(dtype::f32, {256}, w.rank().value());
  std::vector<tensor> outs;
  std::vector<work<>> pending(in_flight);
  for (int i = 0; i < in_flight; ++i) outs.push_back(tensor::empty(dtype::f32, {256 * w.size()}));
  // All ranks stop after the same operation: rank 0 says when.
  for (int go = 1; go != 0;) {
    for (std::size_t i = 0; i < in_flight; ++i) pending[i] = g.all_gather(outs[i], in);
    for (auto& p : pending) {
      co_await std::move(p);
      ++done;
    }
    auto flag = tensor::full(dtype::i32, {1}, over ? 0 : 1);
    co_await g.broadcast(flag, group_rank(0));
    go = flag.item<std::int32_t>(0);
  }
}

void report(char const* name, std::vector<double> late_ms, long done) {
  std::ranges::sort(late_ms);
  std::printf("  %-34s late by: median %.3f ms, 99 %% %.3f ms, worst %.3f ms; %ld operations\n",
              name, late_ms[late_ms.size() / 2], late_ms[late_ms.size() * 99 / 100], late_ms.back(),
              done);
}

}  // namespace

int main() {
  std::printf("a 5 ms ticker, %d ticks, one thread\n", ticks);
  for (bool const busy : {false, true}) {
    asio::io_context ctx(1);
    std::vector<double> late_ms;
    bool over = false;
    long done = 0;
    asio::co_spawn(ctx, tick(late_ms, over), asio::detached);
    std::optional<local_world> ranks;
    if (busy) {
      ranks.emplace(ctx.get_executor(), 3);
      ranks->spawn([&](world w) { return busy_rank(w, over, done); });
    }
    ctx.run();
    if (busy) ranks->rethrow();
    report(busy ? "beside 3 ranks x 1,000 in flight" : "yardstick: alone", late_ms, done);
  }
}
