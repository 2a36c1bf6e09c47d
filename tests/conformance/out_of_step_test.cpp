// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Ranks whose programs are out of step, ranks that call nothing, and mixes in which nobody is.
#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "calls.hpp"
#include "engine_under_test.hpp"
#include "outcome.hpp"

using namespace hocket;
using namespace hocket::conformance;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

std::string rank_calls(int rank, std::string const& kind) {
  return "rank " + std::to_string(rank) + " " + kind;
}

// Rank `odd` skips a barrier and calls what comes after it; then nothing on the channel works.
asio::awaitable<void> skip(world w, int odd, call_kind next) {
  auto const g = w.group();
  int const me = w.rank().value();
  bool const skips = me == odd;
  auto const c = g.channel(7);
  co_await c.barrier();
  outcome first;
  auto const options = op_options();
  called mine;
  if (skips) mine = next.start(c, options);
  if (skips) first = co_await mine.end();
  if (!skips) first = co_await outcome_of(c.barrier());
  CHECK_MESSAGE(first.code == errc::mismatch, first.story);
  CHECK_MESSAGE(first.tells(rank_calls(odd, next.name)), first.story);
  CHECK_MESSAGE(first.tells(" barrier ("), first.story);
  CHECK_MESSAGE(first.tells(" ch 7 #1: "), first.story);
  CHECK_MESSAGE(first.tells("the ranks called different operations"), first.story);
  auto const again = next.start(c, options);
  auto const later = co_await again.end();
  CHECK_MESSAGE(later.code == errc::desynchronised, later.story);
  CHECK_MESSAGE(later.tells(rank_calls(odd, next.name)), later.story);  // the first difference
  auto const message = co_await outcome_of(c.recv(any_source));
  CHECK_MESSAGE(message.code == errc::desynchronised, message.story);
  c.close_channel();
  co_await g.channel(8).barrier();  // a new channel is in step
  g.channel(8).close_channel();
  co_await g.barrier();
}

// So it is in the group itself, until it is rebuilt.
asio::awaitable<void> rebuilt(world w) {
  int const me = w.rank().value();
  auto const members = rank_group::consecutive(world_rank(0), w.size());
  auto const options = group_options().name("stepping").deadline(hang);
  auto const g = co_await make_group(w, members, options);
  auto const t = tensor::zeros(dtype::f32, {3});
  outcome first;
  if (me == 0) first = co_await outcome_of(g.broadcast(t, group_rank(0)));
  if (me != 0) first = co_await outcome_of(g.all_reduce(t));
  CHECK_MESSAGE(first.code == errc::mismatch, first.story);
  auto const later = co_await outcome_of(g.barrier());
  CHECK_MESSAGE(later.code == errc::desynchronised, later.story);
  co_await w.group().barrier();  // or the first to rebuild would end the others' operations
  auto const next = co_await g.rebuild();
  CHECK(next.size() == w.size());
  co_await next.all_reduce(t);
  co_await next.barrier();
}

// The last rank calls nothing: each call's deadline names it, and the group goes on.
asio::awaitable<void> absent(world w) {
  static auto const calls = collective_calls();
  auto const g = w.group();
  int const me = w.rank().value();
  int const last = w.size() - 1;
  co_await g.barrier();
  for (auto const& c : calls) {
    auto const channel = g.channel(10);
    if (me != last) {
      auto const soon = op_options().deadline(10ms);
      auto const waiting = c.start(channel, soon);
      auto const o = co_await waiting.end();
      CHECK_MESSAGE(o.code == errc::timed_out, c.form, ": ", o.story);
      CHECK_MESSAGE(o.tells("rank " + std::to_string(last)), c.form, ": ", o.story);
    }
    // Nobody may come late to a channel that the others have closed.
    co_await g.channel(11).barrier();
    channel.close_channel();
    if (me == last) channel.close_channel();
  }
  g.channel(11).close_channel();
  co_await g.barrier();
}

// The same, but the late one comes: it finds its operation, and all are in step again.
asio::awaitable<void> late(world w) {
  static auto const calls = collective_calls();
  auto const g = w.group();
  int const last = w.size() - 1;
  bool const is_late = w.rank().value() == last;
  for (auto const& c : calls) {
    if (c.name == "monitored_barrier") continue;  // over for all when one gives up
    called mine;
    if (!is_late) {
      auto const soon = op_options().deadline(0ms);
      mine = c.start(g, soon);
      auto const o = co_await mine.end();
      CHECK_MESSAGE(o.code == errc::timed_out, c.form, ": ", o.story);
    }
    co_await g.channel(3).barrier();
    if (is_late) {
      mine = c.start(g, op_options());
      auto const o = co_await mine.end();
      CHECK_MESSAGE(!o.code, c.form, ": ", o.story);
    } else {
      co_await mine.released();  // it has taken part
    }
  }
  g.channel(3).close_channel();
  co_await g.barrier();
}

// Members, channels, objects, barriers, parts of any sizes and messages in one pot; ranks that are
// in one group only, and a different number of calls before they meet.
asio::awaitable<void> mixed_calls(world w) {
  auto const g = w.group();
  int const n = g.size();
  int const me = g.rank().value();
  auto const halves = me % 2;
  std::vector<world_rank> same;
  for (int r = halves; r < n; r += 2) same.push_back(world_rank(r));
  auto const half = co_await make_group(w, rank_group(same), group_options().deadline(hang));
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i <= me % 2; ++i) {  // the two halves call their groups differently often
      auto t = tensor::full(dtype::i32, {round + 1}, me);
      co_await half.all_reduce(t, reduction::max);
    }
    auto const c = g.channel(static_cast<std::uint64_t>(round % 2 + 1));
    auto const object =
        c.gather_objects(std::string(static_cast<std::size_t>(me), 'o'), group_rank(round % n));
    auto const plan = make_split_plan(layout::balanced, 7 + round, n, 0);
    auto const whole = tensor::zeros(dtype::u8, {7 + round});
    auto const in = tensor::zeros(dtype::u8, {plan.part_size(me)});
    auto const gathered = g.all_gather_v(whole, in, plan);
    auto const sent = g.send(in, group_rank((me + 1) % n), op_options().tag(7));
    auto const met = c.barrier();
    auto const got = co_await g.recv(group_rank((me + n - 1) % n), op_options().tag(7));
    CHECK(got.numel() == plan.part_size((me + n - 1) % n));
    co_await work<>(met);
    co_await work<>(gathered);
    co_await work<>(sent);
    auto const names = co_await work(object);
    CHECK(names.size() == static_cast<std::size_t>(me == round % n ? n : 0));
    auto const key = static_cast<std::uint64_t>(round);
    work<> early;
    if (me == 0) early = g.keyed(key).barrier();  // the others call it after the next one
    co_await g.barrier();
    if (me != 0) early = g.keyed(key).barrier();
    co_await std::move(early);
  }
  g.channel(1).close_channel();
  g.channel(2).close_channel();
}

}  // namespace

TEST_CASE(
    "a rank that skips a call is named on all ranks at once, and the channel stays unusable") {
  for (auto const& next : collective_calls()) {
    if (next.name == "barrier") continue;
    CAPTURE(next.form);
    run(3, [next](world w) { return skip(w, 1, next); });
  }
  auto const next = collective_calls()[2];  // a broadcast
  for (int n : {2, 5, 8})
    for (int odd : {0, n - 1}) run_everywhere(n, [=](world w) { return skip(w, odd, next); });
}
TEST_CASE("a group that is out of step works again when it is rebuilt") {
  for (int n : {2, 3, 5}) run_everywhere(n, rebuilt);
}
TEST_CASE("a rank that calls nothing is named by the deadline of every operation") {
  for (int n : {2, 3}) run(n, absent);
}
TEST_CASE("a rank that comes after the others' deadlines finds every operation and is in step") {
  for (int n : {2, 3, 5}) run(n, late);
}
TEST_CASE("groups, channels, objects, parts of any sizes and messages in one pot raise no alarm") {
  for (int n : rank_counts) {
    if (n > 1) run_everywhere(n, mixed_calls);
  }
}
