// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Groups that go on without members that are lost; where time matters, in virtual time.
#include <chrono>
#include <hocket/group/world.hpp>
#include <ranks.hpp>
#include <stdexcept>
#include <vector>

#include "virtual_world.hpp"

using namespace hocket;
using namespace hocket::test;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

rebuild_options within(clock::duration d) { return rebuild_options().deadline(d); }

// Every member gathers every member's number, in the order of the group.
void check_gathers(std::vector<process_group> const& all, std::vector<int> const& world_ranks) {
  std::vector<tensor> outs;
  std::vector<work<>> gathers;
  for (auto const& g : all) {
    outs.push_back(tensor::zeros(dtype::i32, {2 * g.size()}));
    auto const in = tensor::full(dtype::i32, {2}, 10 + world_ranks[outs.size() - 1]);
    in.data<std::int32_t>()[1] = 100 * g.rank().value();
    gathers.push_back(g.all_gather(outs.back(), in));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK_FALSE(now(gathers[i]).code);
    for (std::size_t r = 0; r < all.size(); ++r) {
      CHECK(outs[i].item<std::int32_t>(2 * static_cast<int>(r)) == 10 + world_ranks[r]);
      CHECK(outs[i].item<std::int32_t>(2 * static_cast<int>(r) + 1) == 100 * static_cast<int>(r));
    }
  }
}

std::vector<process_group> made(std::vector<work<process_group>> const& works) {
  std::vector<process_group> all;
  for (auto const& w : works) {
    REQUIRE_MESSAGE(!now(w).code, now(w).story);
    all.push_back(w.state()->take());
  }
  return all;
}

// Three members without rank 0 lose one; its group goes on with the two.
asio::awaitable<void> loses_one(world w) {
  int const me = w.rank().value();
  if (me == 0) co_return;
  auto const g = co_await make_group(w, rank_group::of(3, 1, 2), group_options().name("trio"));
  if (me == 1) throw std::runtime_error("lost it");
  auto const met = co_await ended(g.barrier());
  bool const told = met.code == errc::peer_lost || met.code == errc::revoked;  // by the other one
  CHECK_MESSAGE(told, met.story);
  auto const next = co_await g.rebuild();  // nobody waits for who is known to be lost
  CHECK(next.label() == "trio@1[3,2]");
  CHECK(next.members() == rank_group::of(3, 2));
  CHECK(next.rank().value() == (me == 3 ? 0 : 1));
  auto out = tensor::zeros(dtype::i32, {2});
  co_await next.all_gather(out, tensor::full(dtype::i32, {1}, 7 * me));
  CHECK(out.item<std::int32_t>(0) == 21);
  CHECK(out.item<std::int32_t>(1) == 14);
}

}  // namespace

TEST_CASE("of five ranks one never comes: the others go on at the deadline, it is excluded later") {
  virtual_world v(5);
  auto const lost = v.group(4).barrier();
  v.group(1).revoke("rank 3 does not answer");
  CHECK(now(lost).code == errc::revoked);
  std::vector<work<process_group>> came;
  for (int r : {0, 1, 2}) came.push_back(v.group(r).rebuild(within(100ms)));
  v.pass(40ms);
  came.push_back(v.group(4).rebuild(within(100ms)));
  v.pass(59ms);
  for (auto const& w : came) CHECK_FALSE(w.ready());
  v.pass(1ms);
  auto const all = made(came);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].label() == "world@1[0,1,2,4]");
    CHECK(all[i].rank().value() == static_cast<int>(i));
  }
  check_gathers(all, {0, 1, 2, 4});
  auto const late = now(v.group(3).rebuild(within(100ms)));
  CHECK(late.code == errc::excluded);
  CHECK_MESSAGE(late.tells("rank 3 came after the membership was closed: epoch 1 of group world is "
                           "[0,1,2,4]"),
                late.story);
  CHECK_MESSAGE(late.tells("rebuild (rebuild_test.cpp:"), late.story);
  auto const again = now(v.group(0).rebuild());
  CHECK(again.code == errc::invalid_argument);
  CHECK_MESSAGE(again.tells("has rebuilt the group before"), again.story);
}

TEST_CASE("old handles stay revoked, and nothing that was sent in the old epoch arrives") {
  virtual_world v(3);
  auto const old_send = v.group(0).send(tensor::full(dtype::i32, {1}, 1), group_rank(1));
  v.group(2).revoke("to begin again");
  CHECK(now(old_send).code == errc::revoked);
  std::vector<work<process_group>> came;
  for (int r : {2, 0, 1}) came.push_back(v.group(r).rebuild());
  auto const all = made(came);  // at once: nobody is missing
  auto const& at0 = all[1];
  auto const& at1 = all[2];
  auto const received = at1.recv(group_rank(0));
  CHECK(now(v.group(0).send(tensor::full(dtype::i32, {1}, 2), group_rank(1))).code ==
        errc::revoked);
  CHECK(now(v.group(1).barrier()).code == errc::revoked);
  CHECK_FALSE(received.ready());
  at0.send(tensor::full(dtype::i32, {1}, 3), group_rank(1));
  CHECK(received.state()->take().item<std::int32_t>(0) == 3);
}

TEST_CASE("a sub-group without rank 0 is rebuilt twice, in its own order and with its options") {
  virtual_world v(5);
  auto const list = rank_group::of(4, 2, 3, 1);
  auto const options = group_options().name("quad").deadline(70ms).window(1, 1 << 20);
  std::vector<work<process_group>> joins;
  for (auto const r : list) joins.push_back(make_group(v.ranks()[r.value()], list, options));
  auto const first = made(joins);
  std::vector<work<process_group>> came;
  for (int place : {0, 1, 3}) came.push_back(first[static_cast<std::size_t>(place)].rebuild());
  v.pass(30s);
  auto const second = made(came);
  CHECK(second[0].label() == "quad@1[4,2,1]");
  check_gathers(second, {4, 2, 1});
  auto const waits = second[1].barrier();
  v.pass(70ms);
  CHECK(now(waits).code == errc::timed_out);
  came.clear();
  for (int place : {2, 1})
    came.push_back(second[static_cast<std::size_t>(place)].rebuild(within(1s)));
  v.pass(1s);
  auto third = made(came);
  std::swap(third[0], third[1]);
  CHECK(third[0].label() == "quad@2[2,1]");
  check_gathers(third, {2, 1});
  CHECK(now(second[0].rebuild()).code == errc::excluded);
  CHECK(now(first[2].rebuild()).code == errc::excluded);
}

TEST_CASE("the shortest deadline closes a membership, a cancelled member is no part of it") {
  virtual_world v(4);
  auto const slow = v.group(0).rebuild(within(10s));
  auto const cancelled = v.group(1).rebuild(within(10s));
  auto const twice = v.group(0).rebuild();
  CHECK(now(twice).code == errc::invalid_argument);
  cancelled.get_canceller().cancel();
  auto const quick = v.group(3).rebuild(within(5ms));
  v.pass(5ms);
  auto const all = made({slow, quick});
  CHECK(all[0].label() == "world@1[0,3]");
  check_gathers(all, {0, 3});
  CHECK(now(v.group(1).rebuild()).code == errc::excluded);
  virtual_world w(3);
  auto const waiting = w.group(2).rebuild();
  auto const at_once = w.group(1).rebuild(within(0ms));
  check_gathers(made({at_once, waiting}), {1, 2});
}

TEST_CASE("a member that leaves the old group is not waited for, one that waits may drop it") {
  virtual_world v(3);
  std::vector<process_group> at;
  for (int r : {0, 1, 2}) at.push_back(v.group(r));
  auto const a = at[0].rebuild();
  static_cast<void>(at[0].close());
  auto const b = at[2].rebuild();
  CHECK_FALSE(a.ready());
  static_cast<void>(at[1].close());
  check_gathers(made({a, b}), {0, 2});
  CHECK(now(at[1].rebuild()).code == errc::group_closed);
  auto const none = process_group().rebuild();
  CHECK_FALSE(now(none).code);
  CHECK(none.state()->take().is_disabled());
}

TEST_CASE("a group without rank 0 goes on without the member whose program threw") {
  for (bool pool : {false, true})
    CHECK_THROWS_WITH((pool ? run_ranks_on_pool(4, loses_one) : run_ranks(4, loses_one)),
                      "lost it");
}
