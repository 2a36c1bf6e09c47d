// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// A call that cannot take part on its own rank: the peers are told at once.
#include <ranks.hpp>
#include <tuple>

#include "ending.hpp"

using namespace hocket;
using namespace hocket::test;
namespace asio = boost::asio;

namespace {

asio::awaitable<void> bad_collective(world w) {
  auto const g = w.group();
  bool const bad = w.rank().value() == 1;
  auto out = tensor::zeros(dtype::f32, {bad ? 99 : w.size()});
  auto const e = co_await ended(g.all_gather(out, tensor::zeros(dtype::f32, {1})));
  if (bad) {
    CHECK(e.code == errc::invalid_argument);
    CHECK_MESSAGE(e.tells("the whole is [99], but must be [" + std::to_string(w.size()) + "]"),
                  e.story);
  } else {
    CHECK(e.code == errc::peer_failed);
    CHECK_MESSAGE(e.tells("rank 1 could not take part"), e.story);
    CHECK_MESSAGE(e.tells("must be [" + std::to_string(w.size()) + "]"), e.story);
  }
  auto t = tensor();
  if (!bad) t = tensor::zeros(dtype::i32, {2});
  auto const again = co_await ended(g.broadcast(t, group_rank(0)));
  CHECK(again.code == (bad ? errc::invalid_argument : errc::peer_failed));
  co_await g.barrier();
}

// The middle one of three sends is wrong, whoever comes first.
asio::awaitable<void> bad_send(world w, bool sender_first) {
  auto const g = w.group();
  int const me = w.rank().value();
  if ((me == 0) != sender_first) co_await g.channel(1).barrier();
  if (me == 0) {
    g.send(tensor::full(dtype::i32, {1}, 1), group_rank(1));
    auto const bad = g.send(tensor(), group_rank(1));
    g.send(tensor::full(dtype::i32, {1}, 3), group_rank(1));
    if (sender_first) co_await g.channel(1).barrier();
    auto const e = co_await ended(bad);
    CHECK(e.code == errc::invalid_argument);
    CHECK_MESSAGE(e.tells("the tensor is undefined"), e.story);
  } else {
    auto const first = g.recv(group_rank(0));
    auto const second = g.recv(group_rank(0));
    auto const third = g.recv(group_rank(0));
    if (!sender_first) co_await g.channel(1).barrier();
    auto const a = co_await work(first);
    CHECK(a.item<std::int32_t>(0) == 1);
    auto const e = co_await ended(second);
    CHECK(e.code == errc::peer_failed);
    CHECK_MESSAGE(e.tells("rank 0 could not take part"), e.story);
    auto const c = co_await work(third);
    CHECK(c.item<std::int32_t>(0) == 3);
  }
}

asio::awaitable<void> bad_recv(world w, bool sender_first) {
  auto const g = w.group();
  int const me = w.rank().value();
  if ((me == 0) != sender_first) co_await g.channel(1).barrier();
  if (me == 0) {
    auto const first = g.send(tensor::full(dtype::i32, {1}, 1), group_rank(1));
    auto const second = g.send(tensor::full(dtype::i32, {1}, 2), group_rank(1));
    if (sender_first) co_await g.channel(1).barrier();
    auto const e = co_await ended(first);
    CHECK(e.code == errc::peer_failed);
    CHECK_MESSAGE(e.tells("rank 1 could not take part"), e.story);
    co_await work(second);
  } else {
    auto const bad = g.recv(tensor(), group_rank(0));
    auto const good = g.recv(group_rank(0));
    if (!sender_first) co_await g.channel(1).barrier();
    auto const e = co_await ended(bad);
    CHECK(e.code == errc::invalid_argument);
    auto const b = co_await work(good);
    CHECK(b.item<std::int32_t>(0) == 2);
  }
}

// A root in either spelling; groups [0,1] and [3,2] of a world of four.
asio::awaitable<void> roots(world w) {
  int const me = w.rank().value();
  auto const members = me < 2 ? rank_group::of(0, 1) : rank_group::of(3, 2);
  auto const g = co_await make_group(w, members, group_options().name(me < 2 ? "low" : "high"));
  auto t = tensor::full(dtype::i32, {1}, me);
  co_await g.broadcast(t, group_rank(1));
  CHECK(t.item<std::int32_t>(0) == (me < 2 ? 1 : 2));
  t = tensor::full(dtype::i32, {1}, me);
  co_await g.broadcast(t, world_rank(me < 2 ? 0 : 3));
  CHECK(t.item<std::int32_t>(0) == (me < 2 ? 0 : 3));
  auto const by_world = co_await ended(g.broadcast(t, world_rank(me < 2 ? 2 : 0)));
  CHECK(by_world.code == errc::not_a_member);
  CHECK_MESSAGE(by_world.tells(me < 2 ? "world rank 2 is not in group low[0,1]"
                                      : "world rank 0 is not in group high[3,2]"),
                by_world.story);
  auto const by_place = co_await ended(g.broadcast(t, group_rank(2)));
  CHECK(by_place.code == errc::not_a_member);
  CHECK_MESSAGE(by_place.tells("group rank 2 is not in group"), by_place.story);
  auto const sent = co_await ended(g.send(t, world_rank(9)));
  CHECK(sent.code == errc::not_a_member);
  auto const got = co_await ended(g.recv(world_rank(-1)));
  CHECK(got.code == errc::not_a_member);
  co_await g.barrier();
}

asio::awaitable<void> bad_plan(world w) {
  auto const g = w.group();
  auto const plan = make_split_plan(layout::balanced, 7, 3, 0);
  auto const e = co_await ended(
      g.all_gather_v(tensor::zeros(dtype::f32, {7}), tensor::zeros(dtype::f32, {4}), plan));
  CHECK(e.code == errc::invalid_argument);
  CHECK_MESSAGE(e.tells("balanced 7 over 3"), e.story);
  CHECK_MESSAGE(e.tells("the group 2 ranks"), e.story);
  co_await g.barrier();
}

asio::awaitable<void> without_parallelism() {
  auto const g = process_group::disabled();
  CHECK(g.is_disabled());
  CHECK(g == process_group());
  CHECK(g.size() == 1);
  CHECK(g.rank() == group_rank(0));
  auto const t = patterned(dtype::f32, {2, 3}, 1);
  co_await g.broadcast(t, group_rank(0));
  auto const same = co_await g.broadcast(std::optional<tensor>(t), group_rank(0));
  CHECK(same->same_object(t));
  auto const none = co_await g.broadcast(std::optional<tensor>(), group_rank(0));
  CHECK_FALSE(none.has_value());
  auto out = laid_out(form::strided, dtype::f32, {2, 3});
  co_await g.all_gather(out, t);
  CHECK(equal(out, t));
  co_await g.all_gather(out, out);
  auto const part = co_await g.scatter(std::optional<tensor>(t), 1, layout::strict, group_rank(0));
  CHECK(part->same_object(t));
  co_await g.barrier();
  auto const sent = co_await ended(g.send(t, group_rank(0)));
  CHECK(sent.code == errc::invalid_argument);
  CHECK(sent.tells("disabled group"));
  auto const got = co_await ended(g.recv(any_source));
  CHECK(got.code == errc::invalid_argument);
  co_await g.close();
  g.revoke("no effect");
  CHECK(g.channel(7).is_disabled());
}

}  // namespace

TEST_CASE("a wrong argument fails its rank with the numbers and the peers at once") {
  for (int n : {2, 3, 5}) run_ranks_everywhere(n, bad_collective);
}
TEST_CASE("a send that failed on its rank fails the receive in the same place of the order") {
  for (bool first : {true, false})
    run_ranks_everywhere(2, [=](world w) { return bad_send(w, first); });
}
TEST_CASE("a receive that failed on its rank fails the send in the same place of the order") {
  for (bool first : {true, false})
    run_ranks_everywhere(2, [=](world w) { return bad_recv(w, first); });
}
TEST_CASE(
    "a root or peer may be named by group or world rank, and one outside is refused by name") {
  run_ranks_everywhere(4, roots);
}
TEST_CASE("a plan for another number of ranks is refused with both numbers") {
  run_ranks_everywhere(2, bad_plan);
}
TEST_CASE("a disabled group is the identity, and has nobody to send to") {
  run_ranks(1, [](world) { return without_parallelism(); });
}
