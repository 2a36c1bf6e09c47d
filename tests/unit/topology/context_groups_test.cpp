// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <array>
#include <hocket/topology/hierarchical.hpp>
#include <hocket/topology/hybrid.hpp>

#include "groups.hpp"
#include "refusal.hpp"

using namespace hocket;
using hocket::test::is_refused;
using hocket::test::plain;
using hocket::test::rank_lists;
using hocket::test::refusal;

TEST_CASE("the first level joins neighbours, the next one joins the groups") {
  auto const cp = rank_group::consecutive(world_rank(0), 8);
  std::array const sizes{2, 4};
  CHECK(plain(hierarchical_groups_of(world_rank(5), cp, sizes)) ==
        rank_lists{{4, 5}, {1, 3, 5, 7}});
  CHECK(plain(hierarchical_groups(cp, sizes, 0)) == rank_lists{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(plain(hierarchical_groups(cp, sizes, 1)) == rank_lists{{0, 2, 4, 6}, {1, 3, 5, 7}});
}

TEST_CASE("three levels over a strided group give each member one group on every level") {
  std::vector<world_rank> members;
  for (int i = 0; i < 12; ++i) members.emplace_back(100 - 3 * i);
  rank_group const cp(members);
  std::array const sizes{2, 3, 2};
  for (int level = 0; level < 3; ++level)
    for (auto const& group : hierarchical_groups(cp, sizes, level))
      for (auto const r : group)
        CHECK(hierarchical_groups_of(r, cp, sizes)[static_cast<std::size_t>(level)] == group);
  CHECK(plain(hierarchical_groups(cp, sizes, 1)) ==
        rank_lists{{100, 94, 88}, {97, 91, 85}, {82, 76, 70}, {79, 73, 67}});
}

TEST_CASE("levels that do not multiply to the group are refused") {
  auto const cp = rank_group::consecutive(world_rank(0), 8);
  std::array const small{2, 2};
  std::array const zero{8, 0};
  CHECK(refusal([&] { return hierarchical_groups(cp, small, 0); }) ==
        "levels 2 * 2 do not make up a group of 8");
  CHECK(is_refused(refusal([&] { return hierarchical_groups(cp, zero, 0); })));
  CHECK(is_refused(refusal([&] { return hierarchical_groups(cp, {}, 0); })));
  std::array const good{4, 2};
  CHECK(is_refused(refusal([&] { return hierarchical_groups(cp, good, 2); })));
  CHECK(is_refused(refusal([&] { return hierarchical_groups_of(world_rank(8), cp, good); },
                           errc::not_a_member)));
}

TEST_CASE("hybrid sizes are the powers of two that divide the group") {
  auto const sizes = [](int n) { return hybrid_sizes(rank_group::consecutive(world_rank(0), n)); };
  CHECK(sizes(2).empty());
  CHECK(sizes(4) == std::vector{2});
  CHECK(sizes(6) == std::vector{2});
  CHECK(sizes(8) == std::vector{2, 4});
  CHECK(sizes(10) == std::vector{2});
  CHECK(sizes(48) == std::vector{2, 4, 8, 16});
  CHECK(refusal([&] { return sizes(3); }) ==
        "hybrid context parallelism needs an even number of ranks, not 3");
}

TEST_CASE("hybrid groups are never short") {
  auto const ten = rank_group::consecutive(world_rank(0), 10);
  CHECK(plain(hybrid_groups(ten, 2)) == rank_lists{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}});
  CHECK(hybrid_groups(ten, 10).front() == ten);
  CHECK(refusal([&] { return hybrid_groups(ten, 4); }) ==
        "a hybrid size of 4 in a group of 10: sizes are powers of two that divide it, from 2 to 2");
}
