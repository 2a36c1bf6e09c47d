// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Members that end, fail, close or revoke.
#include <hocket/group/world.hpp>
#include <ranks.hpp>
#include <stdexcept>

#include "ending.hpp"

using namespace hocket;
using namespace hocket::test;
namespace asio = boost::asio;

namespace {

// Rank 1's program ends; before that it leaves a message for rank 0.
asio::awaitable<void> ends(world w) {
  auto const g = w.group();
  int const me = w.rank().value();
  if (me == 1) {
    g.send(tensor::full(dtype::i32, {1}, 8), group_rank(0));
    co_return;
  }
  auto const met = co_await ended(g.barrier());
  CHECK(met.code == errc::group_closed);
  CHECK_MESSAGE(met.tells("rank 1 is gone"), met.story);
  if (me == 0) {
    auto const left = co_await g.recv(group_rank(1));
    CHECK(left.item<std::int32_t>(0) == 8);
    auto const more = co_await ended(g.recv(group_rank(1)));
    CHECK(more.code == errc::group_closed);
    auto const to = co_await ended(g.send(tensor::zeros(dtype::u8, {1}), group_rank(1)));
    CHECK(to.code == errc::group_closed);
  }
  // The others still reach each other.
  g.send(tensor::full(dtype::i32, {1}, me), group_rank(2 - me));
  auto const other = co_await g.recv(group_rank(2 - me));
  CHECK(other.item<std::int32_t>(0) == 2 - me);
}

asio::awaitable<void> throws(world w) {
  auto const g = w.group();
  if (w.rank().value() == 2) throw std::runtime_error("no more paper");
  auto const met = co_await ended(g.barrier());
  CHECK(met.code == errc::peer_lost);
  CHECK_MESSAGE(met.tells("rank 2 is gone: its program ended: no more paper"), met.story);
  auto const got = co_await ended(g.recv(group_rank(2)));
  CHECK(got.code == errc::peer_lost);
  auto const made = co_await ended(make_group(w, rank_group::of(2, 1, 0)));
  CHECK(made.code == errc::peer_lost);
  CHECK_MESSAGE(made.tells("no more paper"), made.story);
  auto const pair = co_await make_group(w, rank_group::of(1, 0));
  co_await pair.barrier();  // groups without it work
}

// It fails while the others wait in each kind of call.
asio::awaitable<void> throws_later(world w) {
  auto const g = w.group();
  int const me = w.rank().value();
  if (me == 0) {
    co_await g.channel(1).barrier();
    throw std::runtime_error("lost it");
  }
  auto const met = g.barrier();
  auto const got = g.recv(group_rank(0));
  auto const sent = g.send(tensor::zeros(dtype::u8, {1}), group_rank(0));
  auto const made = make_group(w, rank_group::of(0, 1, 2));
  auto const any = me == 1 ? g.recv(any_source, op_options().tag(4)) : work<tensor>();
  co_await g.channel(1).barrier();
  auto const a = co_await ended(met);
  auto const b = co_await ended(got);
  auto const c = co_await ended(sent);
  auto const d = co_await ended(made);
  for (auto const* e : {&a, &b, &c, &d}) {
    CHECK(e->code == errc::peer_lost);
    CHECK_MESSAGE(e->tells("lost it"), e->story);
  }
  if (me == 1) {  // there is still one who may send
    auto const t = co_await work(any);
    CHECK(t.item<std::int32_t>(0) == 4);
    auto const none = co_await ended(g.recv(any_source));
    CHECK_MESSAGE(none.tells("is gone"), none.story);
  } else {
    g.send(tensor::full(dtype::i32, {1}, 4), group_rank(1), op_options().tag(4));
  }
}

// Rank 1 of a sub-group dies, with handles on the stack of two coroutines; another member waits.
asio::awaitable<void> fails_inside(process_group g) {
  auto const own = g.channel(3);
  co_await own.barrier();
  throw std::runtime_error("no more ink");
}

asio::awaitable<void> throws_in_a_subgroup(world w) {
  int const me = w.rank().value();
  if (me == 0) co_return;
  auto const g = co_await make_group(w, rank_group::of(3, 1, 2), group_options().name("sub"));
  if (me == 1) co_await fails_inside(g);
  auto const waits = g.barrier();
  auto const got = g.recv(group_rank(1), op_options().tag(2));
  co_await g.channel(3).barrier();
  auto const a = co_await ended(waits);
  auto const b = co_await ended(got);
  auto const c = co_await ended(g.send(tensor::zeros(dtype::u8, {1}), group_rank(1)));
  for (auto const* e : {&a, &b, &c}) {
    CHECK_MESSAGE(e->code == errc::peer_lost, e->story);
    CHECK_MESSAGE(e->tells("rank 1 is gone: its program ended: no more ink"), e->story);
    CHECK_MESSAGE(e->tells("sub[3,1,2]"), e->story);
  }
}

// An exception that the program catches is no death: the group was only dropped.
asio::awaitable<void> catches(world w) {
  int const me = w.rank().value();
  auto const trio = rank_group::of(1, 2, 0);
  if (me == 2) {
    try {
      auto const g = co_await make_group(w, trio, group_options().name("caught"));
      throw std::runtime_error("and caught");
    } catch (std::runtime_error const&) {
    }
    co_await w.group().barrier();  // its program goes on
    co_return;
  }
  auto const g = co_await make_group(w, trio, group_options().name("caught"));
  auto const e = co_await ended(g.barrier());
  CHECK_MESSAGE(e.code == errc::group_closed, e.story);
  CHECK_MESSAGE(e.tells("is gone: its last handle was dropped"), e.story);
  co_await w.group().barrier();
}

void run_with_failure(int n, rank_program const& main) {
  for (bool pool : {false, true}) {
    CHECK_THROWS_AS((pool ? run_ranks_on_pool(n, main) : run_ranks(n, main)), std::runtime_error);
  }
}

asio::awaitable<void> closes(world w) {
  auto const g = co_await make_group(w, rank_group::of(0, 1, 2));
  auto const c = g.channel(1);
  co_await c.barrier();
  if (w.rank().value() == 1) {
    co_await g.close();
    auto const again = co_await ended(g.barrier());
    CHECK(again.code == errc::group_closed);
    CHECK_MESSAGE(again.tells("this rank has left the group: it was closed"), again.story);
    auto const there = co_await ended(c.recv(group_rank(0)));
    CHECK(there.code == errc::group_closed);
  } else {
    auto const met = co_await ended(c.barrier());
    CHECK(met.code == errc::group_closed);
    CHECK_MESSAGE(met.tells("rank 1 is gone: it was closed"), met.story);
  }
  co_await w.group().barrier();
}

asio::awaitable<void> revoked(world w) {
  auto const g = co_await make_group(w, rank_group::of(0, 1, 2));
  int const me = w.rank().value();
  auto const met = me != 0 ? g.barrier() : work<>();
  auto const got = g.channel(4).recv(any_source);
  auto const sent = g.send(tensor::zeros(dtype::u8, {1}), group_rank((me + 1) % 3));
  co_await w.group().barrier();
  if (me == 2) {
    g.revoke("the budget is spent");
    g.revoke("a second time has no effect");
  }
  auto const a = co_await ended(got);
  auto const b = co_await ended(sent);
  auto const c = co_await ended(g.barrier());
  for (auto const* e : {&a, &b, &c}) {
    CHECK(e->code == errc::revoked);
    CHECK_MESSAGE(e->tells("revoked by rank 2: the budget is spent"), e->story);
  }
  if (me != 0) {
    auto const e = co_await ended(met);
    CHECK(e.code == errc::revoked);
  }
  co_await w.group().barrier();  // other groups are not concerned
}

}  // namespace

TEST_CASE("a rank whose program ends is named to those that need it, what it sent is still there") {
  run_ranks_everywhere(3, ends);
}
TEST_CASE("a rank whose program throws is lost to its peers with the exception's text") {
  run_with_failure(3, throws);
}
TEST_CASE("a member of a sub-group whose program throws is lost to it with the exception's text") {
  for (int i = 0; i < 20; ++i) run_with_failure(4, throws_in_a_subgroup);
}
TEST_CASE("a group dropped by an exception that the program catches was only closed") {
  run_ranks_everywhere(3, catches);
}
TEST_CASE("a rank that is lost ends what waits for it, and nothing else") {
  run_with_failure(3, throws_later);
}
TEST_CASE("a member that closes the group leaves it on all its channels") {
  run_ranks_everywhere(3, closes);
}
TEST_CASE("a revoked group ends what is pending and what comes, on all members and channels") {
  run_ranks_everywhere(3, revoked);
}
TEST_CASE("the failure of each rank's program can be asked for") {
  asio::io_context ctx;
  local_world ranks(ctx.get_executor(), 2);
  ranks.spawn(0, [](world) -> asio::awaitable<void> { throw std::runtime_error("first"); });
  ranks.spawn(1, [](world) -> asio::awaitable<void> { co_return; });
  ctx.run();
  CHECK(ending_of(ranks.failure(0)).story == "first");
  CHECK(ranks.failure(1) == nullptr);
  CHECK_THROWS_WITH(ranks.rethrow(), "first");
  CHECK_THROWS_AS(static_cast<void>(ranks[1]), error);
}

TEST_CASE("several programs of one rank share its world, and the first failure is the rank's") {
  asio::io_context ctx;
  local_world ranks(ctx.get_executor(), 2);
  ranks.spawn(0, [](world w) -> asio::awaitable<void> {
    co_await w.group().channel(1).barrier();
    throw std::runtime_error("out of ink");
  });
  ranks.spawn(0, [](world w) -> asio::awaitable<void> {
    co_await w.group().channel(2).barrier();
    auto const left = co_await ended(w.group().recv(group_rank(1)));
    CHECK(left.code.failed());
  });
  ranks.spawn(1, [](world w) -> asio::awaitable<void> {
    co_await w.group().channel(2).barrier();
    co_await w.group().channel(1).barrier();
    auto const met = co_await ended(w.group().barrier());
    CHECK_MESSAGE(met.tells("out of ink"), met.story);
  });
  ctx.run();
  CHECK_THROWS_WITH(ranks.rethrow(), "out of ink");
  REQUIRE(ranks.failure(0) != nullptr);
  CHECK_THROWS_WITH(std::rethrow_exception(ranks.failure(0)), "out of ink");
  CHECK_THROWS_AS(ranks.spawn(0, [](world) -> asio::awaitable<void> { co_return; }), hocket::error);
}
