// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <hocket/topology/rank_grid.hpp>
#include <type_traits>

#include "groups.hpp"
#include "refusal.hpp"

using namespace hocket;
using hocket::test::is_refused;
using hocket::test::plain;
using hocket::test::rank_lists;
using hocket::test::refusal;

static_assert(sizeof(rank_grid) < 1024);
static_assert(std::is_trivially_copyable_v<rank_grid>);

namespace {

axis_sizes sizes(int tp, int cp, int ep, int dp, int pp) {
  return {.tp = tp, .cp = cp, .ep = ep, .dp = dp, .pp = pp};
}

rank_grid mpu(int world, axis_sizes s, char const* text, int offset = 0) {
  return {world, s, order::innermost_first(text), offset};
}

}  // namespace

TEST_CASE("the leftmost axis of Megatron's notation varies fastest") {
  auto const g = mpu(8, sizes(2, 2, 1, derive, 2), "tp-cp-pp-dp");
  CHECK(plain(g.groups(axis::tp)) == rank_lists{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(plain(g.groups(axis::cp)) == rank_lists{{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  CHECK(plain(g.groups(axis::pp)) == rank_lists{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(g.size_of(axis::dp) == 1);
}

TEST_CASE("the other notation puts its rightmost axis innermost") {
  rank_grid const g(8, sizes(2, 2, 1, 1, 2), order::outermost_first("dp-ep-pp-tp-cp"));
  CHECK(plain(g.groups(axis::cp)) == rank_lists{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(plain(g.groups(axis::tp)) == rank_lists{{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  CHECK(g.stride_of(axis::pp) == 4);
  auto const misread = mpu(8, sizes(2, 2, 1, 1, 2), "dp-ep-pp-tp-cp");
  CHECK(misread.stride_of(axis::pp) == 1);
  CHECK(misread != g);
}

TEST_CASE("every rank of a five axis grid finds its coordinate and comes back") {
  for (auto text : {"tp-cp-ep-dp-pp", "cp-tp-pp-ep-dp", "pp-dp-ep-cp-tp"}) {
    auto const g = mpu(2 * 3 * 2 * 5 * 3, sizes(2, 3, 2, 5, 3), text, 17);
    for (int r = 17; r < 17 + g.size(); ++r) {
      auto const place = g.at(world_rank(r));
      CHECK(g.at(place) == world_rank(r));
      for (auto set : {axis_set(axis::cp), axis_set(axis::dp, axis::tp),
                       axis_set(axis::ep, axis::cp, axis::pp)}) {
        auto const group = g.group_of(world_rank(r), set);
        CHECK(group.size() == g.size_of(set));
        CHECK(group[*group.group_rank_of(world_rank(r))] == world_rank(r));
        for (auto const member : group)
          for (auto a : all_axes)
            if (!set.contains(a)) CHECK(g.at(member)[a] == place[a]);
      }
    }
  }
}

TEST_CASE("the groups along any axes are disjoint and cover the grid") {
  auto const g = mpu(36, sizes(3, 2, 1, 3, 2), "tp-cp-ep-dp-pp", 5);
  for (auto set : {axis_set(), axis_set(axis::dp), axis_set(axis::tp, axis::pp),
                   axis_set(axis::tp, axis::cp, axis::ep, axis::dp, axis::pp)}) {
    std::vector<int> seen(36);
    for (auto const& group : g.groups(set)) {
      for (auto const r : group) ++seen[static_cast<std::size_t>(r.value() - 5)];
      for (auto const r : group) CHECK(g.group_of(r, set) == group);
    }
    CHECK(seen == std::vector<int>(36, 1));
  }
}

TEST_CASE("a rank has a place in a strided group exactly if it is a member") {
  auto const g = mpu(48, sizes(2, 2, 1, 3, 4), "tp-cp-dp-pp", 100);
  for (auto const& group : g.groups(axis_set(axis::cp, axis::pp))) {
    auto const members = plain(group);
    for (int r = 90; r < 160; ++r) {
      auto const at = std::ranges::find(members, r);
      auto const place = group.group_rank_of(world_rank(r));
      CHECK(place.has_value() == (at != members.end()));
      if (place) CHECK(place->value() == at - members.begin());
    }
  }
}

TEST_CASE("ep and cp above 1 share one grid of five axes") {
  auto const g = mpu(8, sizes(1, 2, 2, 2, 1), "tp-cp-ep-dp-pp");
  CHECK(plain(g.groups(axis::cp)) == rank_lists{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(plain(g.groups(axis::ep)) == rank_lists{{0, 2}, {1, 3}, {4, 6}, {5, 7}});
}

TEST_CASE("a world that is not the product of its axes is refused with every number") {
  CHECK(refusal([] { return mpu(8, sizes(2, 3, 1, derive, 1), "tp-cp-pp"); }) ==
        "world 8 != tp 2 * cp 3 * pp 1 (order tp-cp-pp), product 6");
  CHECK(refusal([] { return rank_grid(4, sizes(1, 8, 1, 1, 1)); }) ==
        "world 4 != tp 1 * cp 8 * ep 1 * dp 1 * pp 1 (order tp-cp-ep-dp-pp), product 8");
  CHECK(refusal([] { return mpu(6, sizes(2, 1, 1, derive, 2), "tp-pp-dp"); }) ==
        "world 6 != tp 2 * pp 2 * dp (derived) (order tp-pp-dp), product 4 without dp: 6 % 4 = 2");
  int const big = 65536;
  CHECK(refusal([] { return rank_grid(1, sizes(big, big, big, big, big)); }) ==
        "world 1 != tp 65536 * cp 65536 * ep 65536 * dp 65536 * pp 65536 (order tp-cp-ep-dp-pp), "
        "a product above 2^63");
  CHECK(is_refused(refusal([] { return rank_grid(1, sizes(big, big, 1, 1, 1)); })));
}

TEST_CASE("sizes, worlds and offsets out of range are refused") {
  CHECK(refusal([] { return mpu(2, sizes(0, 1, 1, 2, 1), "tp-dp"); }) ==
        "tp 0 is below 1: tp 0 * dp 2 (order tp-dp)");
  CHECK(refusal([] { return mpu(8, sizes(2, 1, 1, 2, 2), "tp-cp-dp"); }) ==
        "pp 2, but the order tp-cp-dp does not name pp");
  CHECK(refusal([] { return rank_grid(4, sizes(2, 1, 1, 2, 1), {}, -3); }) ==
        "offset -3 of a world of 4 is negative");
  CHECK(is_refused(refusal([] { return rank_grid(0, axis_sizes()); })));
  CHECK(is_refused(refusal([] { return rank_grid(-8, axis_sizes()); })));
  CHECK(is_refused(refusal([] { return rank_grid(8, axis_sizes(), {}, 2147483640); })));
  CHECK(is_refused(refusal([] { return rank_grid(8, sizes(derive, 1, 1, derive, 1)); })));
}

TEST_CASE("ranks and coordinates outside a grid are refused") {
  auto const g = mpu(8, sizes(2, 1, 1, derive, 2), "tp-dp-pp", 8);
  CHECK(refusal([&] { return g.at(world_rank(7)); }) ==
        "rank 7 is outside the grid of ranks 8 to 15");
  CHECK(is_refused(refusal([&] { return g.at(world_rank(16)); })));
  CHECK(is_refused(refusal([&] { return g.group_of(world_rank(16), axis::tp); })));
  CHECK(refusal([&] { return g.at(coordinate{.dp = 2}); }) == "dp 2 is outside an axis of 2");
  CHECK(is_refused(refusal([&] { return g.at(coordinate{.tp = -1}); })));
}

TEST_CASE("the missing size is derived, on whichever axis it is") {
  CHECK(rank_grid(16, {.tp = 2, .pp = 2}).size_of(axis::dp) == 4);
  CHECK(rank_grid(16, sizes(2, derive, 1, 2, 1)).size_of(axis::cp) == 4);
  CHECK(mpu(4, {.tp = 2, .cp = 2}, "tp-cp").sizes() == sizes(2, 2, 1, 1, 1));
}

TEST_CASE("grids that place all ranks alike are equal") {
  CHECK(mpu(8, sizes(2, 1, 1, 2, 2), "tp-cp-pp-dp") ==
        mpu(8, sizes(2, 1, 1, derive, 2), "tp-cp-pp-dp-ep"));
  CHECK(mpu(8, sizes(2, 1, 1, 2, 2), "tp-cp-pp-dp") != mpu(8, sizes(2, 1, 1, 2, 2), "tp-cp-dp-pp"));
}

TEST_CASE("65536 ranks need no list: the whole world is one group by arithmetic") {
  auto const g = mpu(65536, sizes(8, 4, 1, derive, 16), "tp-cp-ep-dp-pp");
  auto const all = g.group_of(world_rank(40000), axis_set(axis::tp, axis::cp, axis::dp, axis::pp));
  CHECK(all == rank_group::consecutive(world_rank(0), 65536));
  CHECK(g.groups(axis_set()).size() == 65536);
  CHECK(g.groups(axis::dp).size() == 512);
}
