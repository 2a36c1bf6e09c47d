// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Operations move by themselves, whatever the threads that called them do meanwhile.
#include <doctest/doctest.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <functional>
#include <hocket/detail/sanitized.hpp>
#include <random>
#include <thread>
#include <vector>

#include "long_mode.hpp"
#include "patterns.hpp"
#include "ranks.hpp"

using namespace hocket;
using namespace hocket::test;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

using real = std::chrono::steady_clock;

constexpr std::int64_t eight_mib = 8 << 20;
constexpr auto long_enough = 30s;

std::vector<process_group> pair_of(local_world& ranks, asio::any_io_executor const& a,
                                   asio::any_io_executor const& b) {
  auto const members = rank_group::of(0, 1);
  auto const first = make_group(ranks[0], members, group_options().executor(a));
  auto const second = make_group(ranks[1], members, group_options().executor(b));
  return {first.get(long_enough), second.get(long_enough)};
}

// Keeps its thread busy, without an await, until the peer has the message.
asio::awaitable<void> busy_sender(world w, std::atomic<bool>& arrived, bool last) {
  auto const g = w.group();
  if (last) co_await g.channel(1).barrier();
  g.send(patterned(dtype::u8, {eight_mib}, 5), group_rank(1));
  auto const begin = real::now();
  while (!arrived && real::now() - begin < long_enough) std::this_thread::yield();
  CHECK(arrived);
}

asio::awaitable<void> receiver(world w, std::atomic<bool>& arrived, bool first) {
  auto const g = w.group();
  auto out = tensor::zeros(dtype::u8, {eight_mib});
  auto const got = g.recv(out, group_rank(0));
  if (first) co_await g.channel(1).barrier();
  co_await work(got);
  arrived = true;
  CHECK(equal(out, patterned(dtype::u8, {eight_mib}, 5)));
}

asio::awaitable<void> gather_again_and_again(process_group g, bool const& stop, int& rounds) {
  auto in = tensor::full(dtype::u8, {1024}, g.rank().value());
  auto out = tensor::zeros(dtype::u8, {2048});
  while (!stop) {
    co_await g.all_gather(out, in);
    ++rounds;
    if (g.rank().value() == 0 && stop) g.revoke("the test is over");
  }
}

// One side of a ping-pong with pauses around the time a thread takes to fall asleep.
asio::awaitable<void> ping_pong(process_group g, int rounds, clock::duration& worst) {
  bool const serves = g.rank().value() == 0;
  group_rank const other(serves ? 1 : 0);
  std::minstd_rand pause(serves ? 1 : 2);
  auto const ball = tensor::full(dtype::i32, {1}, 1);
  for (int i = 0; i < rounds; ++i) {
    auto const until = real::now() + std::chrono::microseconds(pause() % 40);
    while (real::now() < until) {
    }
    if (i % 1000 == 999) std::this_thread::sleep_for(1ms);
    auto const begin = real::now();
    if (serves) co_await g.send(ball, other);
    co_await g.recv(ball, other);
    if (!serves) co_await g.send(ball, other);
    worst = std::max<clock::duration>(worst, real::now() - begin);
  }
}

}  // namespace

TEST_CASE("large operations become ready for a caller that polls and never runs its context") {
  asio::io_context never_run;
  local_world ranks(never_run.get_executor(), 2);
  auto out = tensor::zeros(dtype::u8, {eight_mib});
  auto const in = patterned(dtype::u8, {eight_mib}, 1);
  auto const sent = ranks[0].group().send(in, group_rank(1));
  auto const got = ranks[1].group().recv(out, group_rank(0));
  auto const begin = real::now();
  while (!(sent.ready() && got.ready()) && real::now() - begin < long_enough)
    std::this_thread::sleep_for(1ms);
  CHECK(sent.ready());
  CHECK(got.ready());
  CHECK(equal(out, in));
}

TEST_CASE("a large send moves while its caller keeps the thread busy, whoever called first") {
  for (bool sender_last : {false, true}) {
    CAPTURE(sender_last);
    std::atomic<bool> arrived{false};
    asio::thread_pool pool(2);
    local_world ranks(pool.get_executor(), 2);
    ranks.spawn(0, [&](world w) { return busy_sender(w, arrived, sender_last); });
    ranks.spawn(1, [&](world w) { return receiver(w, arrived, sender_last); });
    pool.join();
    ranks.rethrow();
  }
}

TEST_CASE("operations called by threads that have ended complete") {
  asio::io_context ctx;
  local_world ranks(ctx.get_executor(), 2);
  std::vector<tensor> outs;
  std::vector<work<>> done;
  for (int r = 0; r < 2; ++r) {
    outs.push_back(tensor::zeros(dtype::u8, {2 * eight_mib}));
    std::thread([&] {
      auto const g = ranks[r].group();
      done.push_back(g.all_gather(outs.back(), patterned(dtype::u8, {eight_mib}, r)));
      done.push_back(g.send(patterned(dtype::i32, {9}, r), group_rank(1 - r)));
    }).join();
  }
  for (int r = 0; r < 2; ++r) {
    auto const got = ranks[r].group().recv(group_rank(1 - r)).get(long_enough);
    CHECK(equal(got, patterned(dtype::i32, {9}, 1 - r)));
  }
  for (auto const& w : done) w.get(long_enough);
  for (auto const& out : outs)
    for (int r = 0; r < 2; ++r)
      CHECK(equal(out.slice(0, r * eight_mib, eight_mib), patterned(dtype::u8, {eight_mib}, r)));
}

TEST_CASE("a hundred pending receives use no processor") {
  asio::io_context ctx;
  local_world ranks(ctx.get_executor(), 2);
  std::vector<work<tensor>> pending;
  for (std::uint64_t i = 0; i < 100; ++i)
    pending.push_back(ranks[0].group().recv(group_rank(1), op_options().tag(i)));
  auto const used = [] {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
  };
  auto const before = used();
  std::this_thread::sleep_for(200ms);
  CHECK(used() - before < 50ms);
  for (auto const& p : pending) CHECK_FALSE(p.ready());
}

TEST_CASE("a group that never comes into being holds up neither another one nor a ticker") {
  asio::io_context ctx;
  local_world ranks(ctx.get_executor(), 2);
  auto const never = make_group(ranks[0], rank_group::of(0, 1), group_options().name("never"));
  auto const g = pair_of(ranks, ctx.get_executor(), ctx.get_executor());
  bool stop = false;
  int rounds = 0;
  for (auto const& each : g)
    asio::co_spawn(ctx, gather_again_and_again(each, stop, rounds), asio::detached);
  asio::steady_timer ticker(ctx);
  int ticks = 0;
  real::duration late{};
  std::function<void(boost::system::error_code)> const tick = [&](boost::system::error_code) {
    late = std::max(late, real::now() - ticker.expiry());
    if (++ticks == 20) {
      stop = true;
      return;
    }
    ticker.expires_after(5ms);
    ticker.async_wait(tick);
  };
  ticker.expires_after(5ms);
  ticker.async_wait(tick);
  real::duration longest{};
  for (auto begin = real::now(); ctx.run_one() > 0; begin = real::now())
    longest = std::max(longest, real::now() - begin - (ticks < 20 ? 5ms : 0ms));
  CHECK(ticks == 20);
  CHECK(rounds > 100);
  CHECK(late < 500ms);
  CHECK(longest < 500ms);  // no handler blocks
  CHECK_FALSE(never.ready());
}

TEST_CASE("no wake-up is lost between two threads that play ping-pong around falling asleep") {
#ifdef HOCKET_SANITIZED
  int const rounds = 500;
#else
  int const rounds = is_long_mode() ? 1'000'000 : 5'000;
#endif
  asio::io_context a;
  asio::io_context b;
  local_world ranks(a.get_executor(), 2);
  auto const g = pair_of(ranks, a.get_executor(), b.get_executor());
  clock::duration worst_a{};
  clock::duration worst_b{};
  asio::co_spawn(a, ping_pong(g[0], rounds, worst_a), asio::detached);
  asio::co_spawn(b, ping_pong(g[1], rounds, worst_b), asio::detached);
  std::thread other([&] { b.run(); });
  a.run();
  other.join();
  CHECK(worst_a < 5s);
  CHECK(worst_b < 5s);
}
