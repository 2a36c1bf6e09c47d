// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Group lists recorded from Megatron's RankGenerator and from CurryTrain's five axis placement.
#include <doctest/doctest.h>

#include <hocket/topology/rank_grid.hpp>
#include <string>

#include "golden.hpp"
#include "groups.hpp"
#include "refusal.hpp"

using namespace hocket;
namespace json = boost::json;

namespace {

int number(json::object const& record, std::string_view key) {
  return json::value_to<int>(record.at(key));
}

std::string text(json::object const& record, std::string_view key) {
  return json::value_to<std::string>(record.at(key));
}

axis_sizes sizes_of(json::object const& record) {
  axis_sizes sizes;
  for (auto a : all_axes) sizes[a] = number(record, name_of(a));
  return sizes;
}

// Refused sizes are not multiplied: the world is then whatever positive product there is.
int world_of(axis_sizes const& sizes) {
  int world = 1;
  for (auto a : all_axes)
    if (sizes[a] > 0) world *= sizes[a];
  return world;
}

std::string joined(order const& o) {
  std::string out;
  for (auto a : o.axes()) out += (out.empty() ? "" : "-") + std::string(name_of(a));
  return out;
}

void check_legal(json::object const& record, json::array const& tokens, json::array const& lists) {
  int const offset = number(record, "offset");
  auto const o = order::innermost_first(text(record, "order"));
  rank_grid const grid(number(record, "world"), sizes_of(record), o, offset);
  CHECK(joined(grid.order()) == text(record, "resolved_order"));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    auto const set = axis_set::parse(json::value_to<std::string>(tokens[i]));
    auto const list = json::value_to<std::size_t>(record.at("groups").at(i));
    auto const groups = grid.groups(set);
    CHECK(test::plain(groups) == test::from_json(lists[list], offset));
    for (auto const& group : groups)
      for (int place = 0; auto const r : group)
        REQUIRE(group.group_rank_of(r) == group_rank(place++));
  }
}

}  // namespace

TEST_CASE("548 layouts give Megatron's groups in Megatron's order, or are refused") {
  auto const data = test::golden("megatron_rank_groups.json");
  auto const& tokens = data.at("tokens").as_array();
  int legal = 0;
  int refused = 0;
  for (auto const& value : data.at("records").as_array()) {
    auto const& record = value.as_object();
    CAPTURE(json::serialize(record));
    if (record.at("legal").as_bool()) {
      check_legal(record, tokens, data.at("lists").as_array());
      ++legal;
      continue;
    }
    auto const sizes = sizes_of(record);
    auto const story = test::refusal([&] {
      return rank_grid(world_of(sizes), sizes, order::innermost_first(text(record, "order")),
                       number(record, "offset"));
    });
    CHECK_MESSAGE(test::is_refused(story), story);
    ++refused;
  }
  CHECK(legal == 531);
  CHECK(refused == 17);
}

TEST_CASE("43 layouts of CurryTrain's ParallelState give its coordinates and groups") {
  auto const data = test::golden("curry_parallel_state.json");
  int records = 0;
  for (auto const& value : data.at("records").as_array()) {
    auto const& record = value.as_object();
    CAPTURE(json::serialize(record).substr(0, 120));
    rank_grid const grid(number(record, "world"), sizes_of(record),
                         order::outermost_first("dp-ep-pp-tp-cp"));
    auto const places = json::value_to<test::rank_lists>(record.at("coords_dp_tp_pp_ep_cp"));
    REQUIRE(places.size() == static_cast<std::size_t>(grid.size()));
    for (int r = 0; r < grid.size(); ++r) {
      auto const& p = places[static_cast<std::size_t>(r)];
      coordinate const place{.tp = p[1], .cp = p[4], .ep = p[3], .dp = p[0], .pp = p[2]};
      CHECK(grid.at(world_rank(r)) == place);
      CHECK(grid.at(place) == world_rank(r));
    }
    for (auto const& [key, lists] : record.at("groups").as_object())
      CHECK(test::plain(grid.groups(axis_set::parse(key))) == test::from_json(lists));
    ++records;
  }
  CHECK(records == 43);
}
