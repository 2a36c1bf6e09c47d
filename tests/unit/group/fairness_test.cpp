// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// A ticker beside ranks with a thousand operations in flight, on one thread. Its jitter is bounded
// by what may run between two of its turns; that is counted, no clock decides.
#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <hocket/group/local_world.hpp>
#include <vector>

using namespace hocket;
namespace asio = boost::asio;

namespace {

constexpr int size = 3;
constexpr int in_flight = 1000;
constexpr int rounds = 10;
constexpr long total = long{size} * in_flight * rounds;

// What one turn of the drain may run: 64 handlers, each of which goes on with at most 32 handles
// that are ready before it sleeps again.
constexpr long awaits_a_turn = 64 * (1 + 32);

struct progress {
  long awaits = 0;
  long seen = 0;
  long most = 0;  // between two ticks
  long ticks = 0;
  void tick() {
    most = std::max(most, awaits - std::exchange(seen, awaits));
    ++ticks;
  }
};

asio::awaitable<void> busy_rank(world w, progress& p) {
  auto const g = w.group();
  auto const in = tensor::full(dtype::i32, {1}, w.rank().value());
  std::vector<tensor> outs;
  std::vector<work<>> pending(in_flight);
  for (int i = 0; i < in_flight; ++i) outs.push_back(tensor::empty(dtype::i32, {size}));
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < in_flight; ++i) pending[i] = g.all_gather(outs[i], in);
    for (auto& one : pending) {
      co_await std::move(one);
      ++p.awaits;
    }
  }
}

// Its time has always come: only the turn of the loop's timers keeps it waiting.
asio::awaitable<void> timer_ticks(progress& p) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (p.awaits < total) {
    timer.expires_at(asio::steady_timer::time_point::min());
    co_await timer.async_wait(asio::use_awaitable);
    p.tick();
  }
}

void run_beside(std::function<void(asio::io_context&, progress&)> const& start_ticker,
                progress& p) {
  asio::io_context ctx(1);
  local_world ranks(ctx.get_executor(), size);
  ranks.spawn([&](world w) { return busy_rank(w, p); });
  start_ticker(ctx, p);
  ctx.run();
  ranks.rethrow();
  CHECK(p.awaits == total);
}

}  // namespace

TEST_CASE("a handler that posts itself runs after every turn of the drain") {
  progress p;
  std::function<void()> again;
  run_beside(
      [&](asio::io_context& ctx, progress&) {
        again = [&] {
          p.tick();
          if (p.awaits < total) asio::post(ctx, [&] { again(); });
        };
        asio::post(ctx, [&] { again(); });
      },
      p);
  CHECK(p.most <= awaits_a_turn);
  CHECK(p.ticks >= total / awaits_a_turn);
  MESSAGE("at most " << p.most << " of " << total << " awaits between two turns");
}

TEST_CASE(
    "a timer that has expired waits for a few turns of the drain, not for a thousand operations") {
  progress p;
  run_beside([](asio::io_context& ctx,
                progress& q) { asio::co_spawn(ctx, timer_ticks(q), asio::detached); },
             p);
  CHECK(p.most <= 4 * awaits_a_turn);
  MESSAGE("at most " << p.most << " of " << total << " awaits between two ticks");
}
