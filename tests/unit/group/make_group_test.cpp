// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <hocket/group/detail/group_core.hpp>
#include <hocket/group/world.hpp>
#include <mutex>
#include <ranks.hpp>
#include <vector>

#include "ending.hpp"

using namespace hocket;
using namespace hocket::test;
namespace asio = boost::asio;

namespace {

// All at once, in an order of each rank's own.
asio::awaitable<void> many_groups(world w) {
  std::vector<rank_group> const lists{rank_group::of(0, 1, 2, 3), rank_group::of(3, 2, 1, 0),
                                      rank_group::of(1, 3),       rank_group::of(2, 0),
                                      rank_group::of(2),          rank_group::of(0, 1, 2, 3)};
  std::vector<group_options> options(lists.size());
  options.back().name("twin of the first");
  int const me = w.rank().value();
  std::vector<work<process_group>> made(lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    auto const at = (i + static_cast<std::size_t>(me)) % lists.size();
    if (lists[at].contains(w.rank())) made[at] = make_group(w, lists[at], options[at]);
  }
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (!made[i].valid()) continue;
    auto const g = co_await std::move(made[i]);
    CHECK(g.members() == lists[i]);
    CHECK(g.rank() == *lists[i].group_rank_of(w.rank()));
    auto out = tensor::empty(dtype::i32, {g.size()});
    co_await g.all_gather(out, tensor::full(dtype::i32, {1}, me));
    for (int r = 0; r < g.size(); ++r)
      CHECK(out.item<std::int32_t>(r) == lists[i][group_rank(r)].value());
  }
}

asio::awaitable<void> wrong_lists(world w) {
  int const me = w.rank().value();
  auto const members = me == 1 ? rank_group::of(0, 2, 1) : rank_group::of(0, 1, 2);
  if (me == 2) co_await w.group().channel(1).barrier();  // comes when the others have failed
  auto const e = co_await ended(make_group(w, members, group_options().name("trio")));
  CHECK(e.code == errc::mismatch);
  CHECK_MESSAGE(e.tells("members disagree on group trio: "), e.story);
  CHECK_MESSAGE(e.tells("[0,1,2]"), e.story);
  CHECK_MESSAGE(e.tells("[0,2,1]"), e.story);
  CHECK_MESSAGE(e.tells("make_group_test.cpp:"), e.story);
  if (me != 2) co_await w.group().channel(1).barrier();
  auto const g = co_await make_group(w, rank_group::of(0, 1, 2), group_options().name("trio"));
  co_await g.barrier();
  CHECK(g.label() == "trio[0,1,2]");
}

asio::awaitable<void> outsiders(world w) {
  if (w.rank().value() == 1) {
    auto const e = co_await ended(make_group(w, rank_group::of(0, 2)));
    CHECK(e.code == errc::not_a_member);
    CHECK_MESSAGE(e.tells("world rank 1 is not in [0,2]"), e.story);
    auto const far = co_await ended(make_group(w, rank_group::of(1, 3)));
    CHECK(far.code == errc::invalid_argument);
    CHECK_MESSAGE(far.tells("rank 3 of [1,3] is outside the world of 3"), far.story);
    co_return;
  }
  auto const g = co_await make_group(w, rank_group::of(0, 2));
  co_await g.barrier();
}

asio::awaitable<void> cycles(world w, std::vector<std::weak_ptr<endpoint>>& all, std::mutex& m) {
  for (int i = 0; i < 100; ++i) {
    auto const g = co_await make_group(w, rank_group::of(2, 0, 1), group_options().name("same"));
    {
      std::lock_guard const lock(m);
      all.push_back(g.core()->endpoint);
    }
    co_await g.barrier();
  }
}

asio::awaitable<void> gather_of_ranks(world w) {
  auto const g = w.group();
  auto out = tensor::empty(dtype::i32, {w.size()});
  co_await g.all_gather(out, tensor::full(dtype::i32, {1}, w.rank().value()));
  bool right = true;
  for (int r = 0; r < w.size(); ++r) right = right && out.item<std::int32_t>(r) == r;
  CHECK(right);
}

}  // namespace

TEST_CASE("groups made at the same time in any order are those of their lists") {
  run_ranks_everywhere(4, many_groups);
}
TEST_CASE("members with different lists are all told, also one that comes later") {
  run_ranks_everywhere(3, wrong_lists);
}
TEST_CASE("a rank outside the list, and a list outside the world, are refused without effect") {
  run_ranks_everywhere(3, outsiders);
}
TEST_CASE("groups made and dropped a hundred times under one name leave nothing behind") {
  std::vector<std::weak_ptr<endpoint>> all;
  std::mutex m;
  run_ranks_everywhere(3, [&](world w) { return cycles(w, all, m); });
  CHECK(all.size() == 600);
  for (auto const& e : all) CHECK(e.expired());
}
TEST_CASE("300 ranks in one process gather each other's rank") {
  run_ranks_everywhere(300, gather_of_ranks);
}
TEST_CASE("a world of no ranks is refused") {
  asio::io_context ctx;
  CHECK_THROWS_AS(local_world(ctx.get_executor(), 0), error);
}
TEST_CASE("an empty executor is refused, for a world and for a group") {
  CHECK_THROWS_AS(local_world(asio::any_io_executor(), 2), error);
  asio::io_context ctx;
  local_world ranks(ctx.get_executor(), 1);
  auto const w =
      make_group(ranks[0], rank_group::of(0), group_options().executor(asio::any_io_executor()));
  REQUIRE(w.ready());
  CHECK_THROWS_WITH_AS(w.get(std::chrono::seconds(1)), doctest::Contains("is empty"), error);
}
