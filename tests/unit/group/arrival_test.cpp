// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Deadlines that count from a peer's first sign, and what else a missed one ends; in virtual time.
#include <chrono>
#include <hocket/async/promise.hpp>
#include <hocket/group/world.hpp>
#include <vector>

#include "virtual_world.hpp"

using namespace hocket;
using namespace hocket::test;
using namespace std::chrono_literals;

namespace {

op_options from_arrival(clock::duration d) { return op_options().deadline_from_arrival(d); }

std::vector<process_group> trio_without_rank_0(virtual_world& v, group_options const& options) {
  auto const list = rank_group::of(3, 1, 2);
  std::vector<work<process_group>> joins;
  for (auto const r : list) joins.push_back(make_group(v.ranks()[r.value()], list, options));
  std::vector<process_group> all;
  for (auto const& w : joins) all.push_back(w.state()->take());
  return all;
}

}  // namespace

TEST_CASE("a deadline from arrival begins when the first peer comes, for who waits and who comes") {
  virtual_world v(4, 1h);
  auto const idle = v.group(2).barrier(from_arrival(100ms));
  v.pass(24h);  // the group's own deadline does not count
  CHECK_FALSE(idle.ready());
  auto const second = v.group(0).barrier(from_arrival(150ms));
  v.pass(99ms);
  CHECK_FALSE(idle.ready());
  auto const third = v.group(3).barrier();  // a second peer does not begin it again
  v.pass(1ms);
  auto const e = now(idle);
  CHECK(e.code == errc::timed_out);
  CHECK_MESSAGE(e.tells("the deadline of 100 ms from the first sign of a peer passed: not called "
                        "by rank 1"),
                e.story);
  CHECK_FALSE(second.ready());
  v.pass(50ms);
  CHECK(now(second).code == errc::timed_out);
  CHECK_FALSE(third.ready());
  auto const last = v.group(1).barrier(from_arrival(0ms));
  CHECK_FALSE(now(last).code);
  CHECK_FALSE(now(third).code);
}

TEST_CASE("of a deadline from the call and one from arrival the first that passes counts") {
  virtual_world v(3);
  auto const both = op_options().deadline(100ms).deadline_from_arrival(30ms);
  auto const a = v.group(0).barrier(both);
  v.pass(20ms);
  auto const b = v.group(1).barrier(both);
  v.pass(30ms);
  CHECK(now(a).code == errc::timed_out);
  CHECK_MESSAGE(now(a).tells("the deadline of 30 ms from the first sign"), now(a).story);
  CHECK(now(b).code == errc::timed_out);
  CHECK_FALSE(now(v.group(2).barrier()).code);
  auto const c = v.group(0).barrier(both);
  v.pass(90ms);
  auto const d = v.group(1).barrier();
  v.pass(10ms);
  CHECK(now(c).code == errc::timed_out);
  CHECK_MESSAGE(now(c).tells("the deadline of 100 ms passed"), now(c).story);
}

TEST_CASE("a receive from arrival waits for ever for a message, and so long for its bytes") {
  virtual_world v(3);
  auto const got = v.group(1).recv(any_source, from_arrival(10ms));
  auto const own = v.group(1).recv(any_source, op_options().tag(9).deadline(1h));
  v.pass(30min);
  CHECK_FALSE(got.ready());
  v.group(2).send(tensor::full(dtype::i32, {3}, 5), group_rank(1));
  CHECK(got.state()->take().item<std::int32_t>(2) == 5);
  promise<void> written(v.ranks()[0].get_executor());
  auto const slow = v.group(1).recv(group_rank(0), from_arrival(10ms));
  auto const sent = v.group(0).send(tensor::full(dtype::i32, {1}, 6), group_rank(1),
                                    op_options().after(event(written.get_work())));
  v.pass(9ms);
  CHECK_FALSE(slow.ready());
  v.pass(1ms);
  CHECK(now(slow).code == errc::timed_out);
  written.set();
  CHECK_FALSE(now(sent).code);
  v.pass(30min);
  CHECK(now(own).code == errc::timed_out);
}

TEST_CASE("a group's deadline from arrival is that of its operations which name none") {
  virtual_world v(4);
  auto const g =
      trio_without_rank_0(v, group_options().deadline(1s).deadline_from_arrival(50ms).name("t"));
  auto const idle = g[0].barrier();
  auto const own = g[1].recv(group_rank(0), op_options().deadline(3s));
  v.pass(2s);
  CHECK_FALSE(idle.ready());
  auto const peer = g[2].barrier(op_options().no_deadline());
  v.pass(50ms);
  CHECK(now(idle).code == errc::timed_out);
  CHECK_MESSAGE(now(idle).tells("not called by rank 1"), now(idle).story);
  CHECK_FALSE(own.ready());
  v.pass(950ms);
  CHECK(now(own).code == errc::timed_out);
  CHECK_FALSE(peer.ready());
}

TEST_CASE("on_expiry(revoke) ends everything of all members, and tells whose deadline it was") {
  virtual_world v(4);
  auto const g = trio_without_rank_0(v, group_options().name("t"));
  auto const abandons = g[1].channel(2).barrier(op_options().deadline(10ms));
  auto const revokes = g[0].all_reduce(tensor::full(dtype::f32, {2}, 1), reduction::sum,
                                       op_options().deadline(20ms).on_expiry(expiry::revoke));
  auto const other = g[2].channel(7).recv(any_source);
  v.pass(10ms);
  CHECK(now(abandons).code == errc::timed_out);
  CHECK_FALSE(other.ready());
  v.pass(10ms);
  CHECK(now(revokes).code == errc::timed_out);
  CHECK(now(other).code == errc::revoked);
  CHECK_MESSAGE(now(other).tells("the group was revoked by rank 0 (world rank 3): t[3,1,2] #0 "
                                 "all_reduce (arrival_test.cpp:"),
                now(other).story);
  CHECK_MESSAGE(now(other).tells("the deadline of 20 ms passed: not called by "), now(other).story);
  CHECK(now(g[1].barrier()).code == errc::revoked);
}

TEST_CASE("a group may revoke itself by default, and an operation abandon all the same") {
  virtual_world v(4);
  auto const g = trio_without_rank_0(v, group_options().name("t").on_expiry(expiry::revoke));
  auto const mild = g[0].barrier(op_options().deadline(1ms).on_expiry(expiry::abandon));
  v.pass(1ms);
  CHECK(now(mild).code == errc::timed_out);
  auto const cancelled = g[1].recv(group_rank(0), op_options().deadline(5ms));
  cancelled.get_canceller().cancel();  // no deadline has passed: the group goes on
  v.pass(5ms);
  auto const monitored = g[2].channel(1).monitored_barrier(op_options().deadline(5ms));
  CHECK_FALSE(monitored.ready());
  v.pass(5ms);
  CHECK(now(monitored).code == errc::timed_out);
  CHECK(now(g[0].channel(2).barrier()).code == errc::revoked);
  CHECK_FALSE(now(g[0].channel(2).barrier(op_options().deadline(0ms))).code == errc::timed_out);
}
