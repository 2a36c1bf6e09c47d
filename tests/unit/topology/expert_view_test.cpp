// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <hocket/topology/expert_view.hpp>

#include "groups.hpp"
#include "refusal.hpp"

using namespace hocket;
using hocket::test::is_refused;
using hocket::test::plain;
using hocket::test::rank_lists;
using hocket::test::refusal;

TEST_CASE("experts tile the ranks that tp, cp and dp use already") {
  rank_grid const dense(8, {.tp = 2, .cp = 2});
  expert_view const view(dense, {.ep = 4, .etp = 1});
  CHECK(view.edp_size() == 2);
  CHECK(plain(view.grid().groups(axis::ep)) == rank_lists{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(plain(view.grid().groups(axis::dp)) == rank_lists{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(plain(dense.groups(axis::dp)) == rank_lists{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(plain(dense.groups(axis_set::parse("dp-cp"))) == rank_lists{{0, 2, 4, 6}, {1, 3, 5, 7}});
}

TEST_CASE("an expert view exists only if ep or etp is set") {
  rank_grid const dense(16, {.cp = 2, .pp = 2}, order::innermost_first("tp-cp-pp-dp"));
  CHECK(!make_expert_view(dense, {}));
  rank_grid const wide(16, {.tp = 4, .pp = 2});
  auto const by_etp = make_expert_view(wide, {.ep = std::nullopt, .etp = 2});
  REQUIRE(by_etp);
  CHECK(by_etp->ep_size() == 1);
  CHECK(by_etp->edp_size() == 4);
  auto const by_ep = make_expert_view(wide, {.ep = 2, .etp = std::nullopt});
  REQUIRE(by_ep);
  CHECK(by_ep->etp_size() == 4);
}

TEST_CASE("pipeline groups that differ between the two tilings are refused") {
  rank_grid const dense(8, {.cp = 2, .pp = 2}, order::innermost_first("tp-cp-pp-ep-dp"));
  CHECK(refusal([&] { return expert_view(dense, {.ep = 2, .etp = 1}); }) ==
        "pipeline groups differ: rank 0 is in [0,2] of tp 1 * cp 2 * dp 2 * pp 2, but in [0,1] of "
        "etp 1 * ep 2 * edp 2 * pp 2 (order tp-cp-pp-ep-dp)");
}

TEST_CASE("expert sizes that do not tile the world are refused with every number") {
  rank_grid const dense(8, {.tp = 2});
  CHECK(refusal([&] { return expert_view(dense, {.ep = 3, .etp = 1}); }) ==
        "world 8 is not a multiple of etp 1 * ep 3 * pp 1 (order tp-cp-ep-dp-pp)");
  CHECK(is_refused(refusal([&] { return expert_view(dense, {.ep = 0, .etp = 1}); })));
  CHECK(is_refused(refusal([&] { return expert_view(dense, {.ep = 65536, .etp = 65536}); })));
  rank_grid const no_ep(8, {.tp = 2}, order::innermost_first("tp-cp-pp-dp"));
  CHECK(refusal([&] { return expert_view(no_ep, {.ep = 2, .etp = 2}); }) ==
        "ep 2, but the order tp-cp-pp-dp does not name ep");
  rank_grid const product(8, {.ep = 2});
  CHECK(is_refused(refusal([&] { return expert_view(product, {.ep = 2, .etp = 1}); })));
}
