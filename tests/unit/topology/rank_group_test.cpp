// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <hocket/topology/rank_group.hpp>
#include <type_traits>
#include <unordered_set>

#include "groups.hpp"
#include "refusal.hpp"

using hocket::errc;
using hocket::group_rank;
using hocket::rank_group;
using hocket::world_rank;
using hocket::test::is_refused;
using hocket::test::plain;
using hocket::test::refusal;

static_assert(!std::is_convertible_v<int, world_rank>);
static_assert(!std::is_convertible_v<world_rank, int>);
static_assert(!std::is_constructible_v<world_rank, group_rank>);
static_assert(!std::is_constructible_v<group_rank, world_rank>);
static_assert(!std::is_constructible_v<world_rank, double>);
static_assert(!std::is_constructible_v<world_rank, bool>);
static_assert(std::is_nothrow_move_constructible_v<rank_group>);
static_assert(std::forward_iterator<rank_group::iterator>);

TEST_CASE("a group given as a list keeps the caller's order") {
  auto const g = rank_group::of(3, 2, 1, 0);
  CHECK(plain(g) == std::vector{3, 2, 1, 0});
  CHECK(g.group_rank_of(world_rank(3)) == group_rank(0));
  CHECK(g.group_rank_of(world_rank(0)) == group_rank(3));
  CHECK(g[group_rank(1)] == world_rank(2));
  CHECK(g.lowest() == world_rank(0));
  auto const row = rank_group::of(5, 2);
  CHECK(row.group_rank_of(world_rank(5)) == group_rank(0));
  CHECK(row.group_rank_of(world_rank(2)) == group_rank(1));
  CHECK(!row.contains(world_rank(0)));
  CHECK(to_string(row) == "[5,2]");
}

TEST_CASE("a negative or repeated member is refused with its places") {
  CHECK(refusal([] { return rank_group::of(4, 7, 4); }) ==
        "rank 4 stands twice in a group of 3, at places 0 and 2");
  CHECK(refusal([] { return rank_group::of(0, -2); }) ==
        "rank -2 in a group of 2: ranks begin at 0");
  CHECK(is_refused(refusal([] { return rank_group::consecutive(world_rank(2147483647), 1); })));
}

TEST_CASE("a place outside a group is refused, a rank outside it has no place") {
  auto const g = rank_group::of(4, 9);
  CHECK(refusal([&] { return g.at(group_rank(2)); }, errc::not_a_member) ==
        "group rank 2 of a group of 2");
  CHECK(is_refused(refusal([&] { return g.at(group_rank(-1)); }, errc::not_a_member)));
  CHECK(!g.group_rank_of(world_rank(5)));
  CHECK(!rank_group().group_rank_of(world_rank(0)));
  CHECK(rank_group().empty());
  CHECK(rank_group(std::vector<world_rank>()).empty());
}

TEST_CASE("equal lists are equal groups with equal hashes, whoever made them") {
  auto const a = rank_group::consecutive(world_rank(4), 3);
  auto const b = rank_group::of(4, 5, 6);
  CHECK(a == b);
  CHECK(a.hash() == b.hash());
  CHECK(std::unordered_set<rank_group>{a, b, rank_group::of(6, 5, 4)}.size() == 2);
  CHECK(a != rank_group::of(4, 5, 7));
  CHECK(rank_group() == rank_group::consecutive(world_rank(3), 0));
}

TEST_CASE("the hash of a group is the same on every host") {
  CHECK(rank_group::of(0, 1, 2, 3).hash() == 2576573745474221021u);
}

TEST_CASE("a slice keeps the order of its group and its bounds") {
  auto const g = rank_group::of(9, 7, 5, 3, 1);
  CHECK(plain(g.slice(group_rank(1), 2, 2)) == std::vector{7, 3});
  CHECK(refusal([&] { return g.slice(group_rank(1), 3, 2); }) ==
        "3 members from place 1 with stride 2 of a group of 5");
  CHECK(is_refused(refusal([&] { return g.slice(group_rank(0), 0); })));
}

TEST_CASE("the text of a long group is short") {
  CHECK(to_string(rank_group::consecutive(world_rank(0), 64)) == "[0,1,2,3,… 64 ranks]");
  CHECK(to_string(rank_group()) == "[]");
}
