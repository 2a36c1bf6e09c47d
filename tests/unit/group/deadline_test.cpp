// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Deadlines in virtual time: a clock that the test moves, a runtime without a thread.
#include <chrono>
#include <hocket/group/world.hpp>
#include <string>
#include <vector>

#include "virtual_world.hpp"

using namespace hocket;
using namespace hocket::test;
using namespace std::chrono_literals;
namespace asio = boost::asio;

TEST_CASE("a deadline names exactly the ranks that have not come, when it passes and not before") {
  virtual_world v(5);
  std::vector<work<>> called;
  for (int r : {0, 1, 3}) called.push_back(v.group(r).barrier(op_options().deadline(100ms)));
  v.pass(99ms);
  for (auto const& w : called) CHECK_FALSE(w.ready());
  v.pass(1ms);
  for (auto const& w : called) {
    auto const e = now(w);
    CHECK(e.code == errc::timed_out);
    CHECK_MESSAGE(e.tells("the deadline of 100 ms passed: not called by rank 2, rank 4"), e.story);
    CHECK_MESSAGE(e.tells("world[0,1,2,3,"), e.story);
  }
  // The ranks still take part: the late ones find them, and the group goes on.
  auto const late = v.group(2).barrier();
  CHECK_FALSE(late.ready());
  auto const last = v.group(4).barrier();
  CHECK_FALSE(now(last).code);
  CHECK_FALSE(now(late).code);
  CHECK(now(called[0]).code == errc::timed_out);  // a verdict is not changed
}

TEST_CASE(
    "an operation's deadline overrides the group's, which later calls follow when it changes") {
  virtual_world v(2, 1s);
  auto const g = v.group(0);
  auto const by_group = g.recv(group_rank(1));
  auto const shorter = g.recv(group_rank(1), op_options().deadline(100ms));
  auto const longer = g.recv(group_rank(1), op_options().deadline(3s));
  auto const never = g.recv(group_rank(1), op_options().no_deadline());
  g.set_deadline(2s);
  auto const changed = g.send(tensor::zeros(dtype::u8, {1}), group_rank(1));
  v.pass(100ms);
  CHECK(now(shorter).code == errc::timed_out);
  CHECK_MESSAGE(now(shorter).tells("no message with tag 0 has come from rank 1"),
                now(shorter).story);
  CHECK_FALSE(by_group.ready());
  v.pass(900ms);
  CHECK(now(by_group).code == errc::timed_out);
  CHECK_FALSE(changed.ready());
  v.pass(1s);
  CHECK_MESSAGE(now(changed).tells("rank 1 has not received it (tag 0)"), now(changed).story);
  CHECK_FALSE(longer.ready());
  v.pass(1s);
  CHECK(now(longer).code == errc::timed_out);
  v.pass(24h);
  CHECK_FALSE(never.ready());
}

TEST_CASE("a receive past its deadline takes no message; a send past its deadline still arrives") {
  virtual_world v(2);
  auto const a = v.group(0);
  auto const b = v.group(1);
  auto const missed = a.recv(group_rank(1), op_options().deadline(1ms));
  auto const slow =
      b.send(tensor::full(dtype::i32, {1}, 5), group_rank(0), op_options().tag(1).deadline(1ms));
  v.pass(1ms);
  CHECK(now(missed).code == errc::timed_out);
  CHECK(now(slow).code == errc::timed_out);
  b.send(tensor::full(dtype::i32, {1}, 6), group_rank(0));
  auto const next = a.recv(group_rank(1));
  auto const tagged = a.recv(group_rank(1), op_options().tag(1));
  CHECK(next.state()->take().item<std::int32_t>(0) == 6);
  CHECK(tagged.state()->take().item<std::int32_t>(0) == 5);
}

TEST_CASE("a zero deadline succeeds only if the operation is ready at once") {
  virtual_world v(2);
  auto const zero = op_options().deadline(0ms);
  v.group(0).send(tensor::full(dtype::i32, {1}, 5), group_rank(1));
  auto const there = v.group(1).recv(group_rank(0), zero);
  CHECK_FALSE(now(there).code);
  auto const empty = v.group(1).recv(group_rank(0), zero);
  CHECK(now(empty).code == errc::timed_out);
  auto const alone = v.group(0).barrier(zero);
  CHECK(now(alone).code == errc::timed_out);
  CHECK_MESSAGE(now(alone).tells("not called by rank 1"), now(alone).story);
}

TEST_CASE("a monitored barrier past one deadline is over for all, and names who had not come") {
  virtual_world v(5);
  auto const a = v.group(0).monitored_barrier(op_options().deadline(1s));
  auto const b = v.group(3).monitored_barrier(op_options().deadline(2s));
  auto const c = v.group(1).monitored_barrier();
  v.pass(1s);
  for (auto const* w : {&a, &b, &c}) {
    CHECK(now(*w).code == errc::timed_out);
    CHECK_MESSAGE(now(*w).tells("not called by rank 2, rank 4"), now(*w).story);
  }
  CHECK_MESSAGE(now(c).tells("rank 0 waited until its deadline passed"), now(c).story);
  auto const late = v.group(2).monitored_barrier();
  CHECK(now(late).code == errc::timed_out);
  auto const last = v.group(4).monitored_barrier(op_options().deadline(0s));
  CHECK(now(last).code == errc::timed_out);
  std::vector<work<>> all;
  for (int r = 0; r < 5; ++r) all.push_back(v.group(r).monitored_barrier());
  for (auto const& w : all) CHECK_FALSE(now(w).code);
  // A cancelled one is over, too.
  auto const waits = v.group(0).monitored_barrier();
  auto const cancelled = v.group(1).monitored_barrier();
  cancelled.get_canceller().cancel();
  CHECK(now(waits).code == errc::peer_failed);
  CHECK_MESSAGE(now(waits).tells("rank 1 waited until it was cancelled"), now(waits).story);
}

TEST_CASE(
    "making a group past its deadline names who has not joined, to all members, also late ones") {
  virtual_world v(4);
  auto const members = rank_group::of(3, 1, 0);
  auto const options = group_options().name("trio").deadline(50ms);
  auto const first = make_group(v.ranks()[0], members, options);
  auto const third = make_group(v.ranks()[3], members, group_options().name("trio"));
  v.pass(50ms);
  CHECK(now(first).code == errc::timed_out);
  CHECK_MESSAGE(now(first).tells("of [3,1,0] these world ranks have not joined group trio: 1"),
                now(first).story);
  CHECK(now(third).code == errc::peer_failed);
  CHECK_MESSAGE(now(third).tells("rank 0 gave up waiting for group trio"), now(third).story);
  auto const late = make_group(v.ranks()[1], members, options);
  CHECK(now(late).code == errc::peer_failed);
  // The next one of that name begins anew.
  std::vector<work<process_group>> again;
  for (int r : {0, 1, 3}) again.push_back(make_group(v.ranks()[r], members, options));
  for (auto const& w : again) CHECK_FALSE(now(w).code);
}

TEST_CASE("members with other lists and default names learn at the deadline who waits for what") {
  virtual_world v(4);
  auto const options = group_options().deadline(50ms);
  auto const a = make_group(v.ranks()[1], rank_group::of(1, 2, 3), options);
  auto const b = make_group(v.ranks()[2], rank_group::of(1, 2, 3), options);
  auto const c = make_group(v.ranks()[3], rank_group::of(3, 2), group_options());
  v.pass(50ms);
  CHECK(now(a).code == errc::timed_out);
  CHECK_MESSAGE(now(a).tells("have not joined group g"), now(a).story);
  CHECK_MESSAGE(now(a).tells(": 3 (it waits to make g"), now(a).story);
  CHECK_MESSAGE(now(a).tells("[3,2])"), now(a).story);
  CHECK(now(b).code);
  CHECK_FALSE(c.ready());
}

TEST_CASE("a group's deadline is that of its operations, and a zero one to join it fails at once") {
  virtual_world v(2);
  auto const members = rank_group::of(0, 1);
  auto const hurried = make_group(v.ranks()[0], members, group_options().name("x").deadline(0ms));
  CHECK(now(hurried).code == errc::timed_out);
  auto const options = group_options().name("y").deadline(70ms);
  auto const a = make_group(v.ranks()[0], members, options);
  auto const b = make_group(v.ranks()[1], members, options);
  auto const waits = a.state()->take().barrier();
  v.pass(69ms);
  CHECK_FALSE(waits.ready());
  v.pass(1ms);
  CHECK(now(waits).code == errc::timed_out);
}
