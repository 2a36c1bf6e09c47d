// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// The groups that the initialize_model_parallel of Megatron and of WorldFoundry create, and every
// rank's place in them.
#include <doctest/doctest.h>

#include <array>
#include <hocket/topology/expert_view.hpp>
#include <hocket/topology/hierarchical.hpp>
#include <hocket/topology/hybrid.hpp>
#include <map>
#include <string>

#include "golden.hpp"
#include "groups.hpp"
#include "refusal.hpp"

using namespace hocket;
namespace json = boost::json;

namespace {

std::optional<int> number(json::object const& kwargs, std::string_view key) {
  auto const* const found = kwargs.if_contains(key);
  return found == nullptr ? std::nullopt : std::optional(json::value_to<int>(*found));
}

std::string order_text(json::object const& kwargs, char const* otherwise) {
  auto const* const found = kwargs.if_contains("order");
  return found == nullptr ? otherwise : json::value_to<std::string>(*found);
}

struct layout {
  rank_grid dense;
  std::optional<expert_view> experts;
};

layout megatron(int world, json::object const& kwargs) {
  rank_grid const dense(number(kwargs, "local_world_size").value_or(world),
                        {.tp = number(kwargs, "tensor_model_parallel_size").value_or(1),
                         .cp = number(kwargs, "context_parallel_size").value_or(1),
                         .pp = number(kwargs, "pipeline_model_parallel_size").value_or(1)},
                        order::innermost_first(order_text(kwargs, "tp-cp-ep-dp-pp")));
  return {dense, make_expert_view(dense, {.ep = number(kwargs, "expert_model_parallel_size"),
                                          .etp = number(kwargs, "expert_tensor_parallel_size")})};
}

// What these change is no matter of topology, or there is no such axis here.
char const* reason_to_skip(json::object const& kwargs) {
  for (auto key : {"gtp_remat_size", "expert_gtp_remat_size", "use_sharp", "sharp_enabled_group",
                   "num_distributed_optimizer_instances", "pipeline_model_parallel_comm_backend"})
    if (kwargs.contains(key)) return key;
  if (kwargs.contains("virtual_pipeline_model_parallel_size") &&
      !kwargs.contains("pipeline_model_parallel_size"))
    return "virtual_pipeline_model_parallel_size without stages";
  return nullptr;
}

test::rank_lists ends(std::vector<rank_group> const& stages, bool last_too) {
  test::rank_lists out;
  for (auto const& pp : stages) {
    std::vector<int> ranks{pp[group_rank(0)].value()};
    if (last_too && pp.size() > 1) ranks.push_back(pp[group_rank(pp.size() - 1)].value());
    out.push_back(ranks);
  }
  return out;
}

test::rank_lists hybrid(rank_grid const& dense, int size) {
  test::rank_lists out;
  for (auto const& whole : dense.groups(axis_set::parse("dp-cp")))
    for (auto const& group : hybrid_groups(whole, size)) out.push_back(test::plain(group));
  return out;
}

// Megatron makes the groups of the second tiling even without experts.
rank_grid second_tiling(layout const& l) {
  if (l.experts) return l.experts->grid();
  return expert_view(l.dense, {.ep = 1, .etp = l.dense.size_of(axis::tp)}).grid();
}

test::rank_lists groups_of(layout const& l, std::string const& key) {
  static std::map<std::string, char const*> const dense{
      {"dp_cp", "dp-cp"}, {"dp", "dp"}, {"cp", "cp"},       {"mp", "tp-pp"},
      {"tp", "tp"},       {"pp", "pp"}, {"tp_dp", "tp-dp"}, {"tp_dp_cp", "tp-dp-cp"},
      {"tp_cp", "tp-cp"}};
  static std::map<std::string, char const*> const expert{{"ep", "ep"},
                                                         {"ep_tp", "tp"},
                                                         {"tp_ep_mp", "tp-ep"},
                                                         {"tp_ep_pp", "tp-ep-pp"},
                                                         {"tp_ep_gtp_remat_pp", "tp-ep-pp"},
                                                         {"ep_dp", "dp"}};
  if (auto const found = dense.find(key); found != dense.end())
    return test::plain(l.dense.groups(axis_set::parse(found->second)));
  if (auto const found = expert.find(key); found != expert.end())
    return test::plain(second_tiling(l).groups(axis_set::parse(found->second)));
  if (key == "intra_dist_opt_instance") {  // one instance: all groups of experts and stages
    std::vector<int> ranks;
    for (auto const& list : groups_of(l, "tp_ep_pp"))
      ranks.insert(ranks.end(), list.begin(), list.end());
    return {ranks};
  }
  if (key == "gtp_remat" || key == "expt_gtp_remat") return test::plain(l.dense.groups({}));
  if (key == "embd" || key == "pos_embd") return ends(l.dense.groups(axis::pp), key == "embd");
  if (key == "HYBRID_DP_CP_GROUP_2") return hybrid(l.dense, 2);
  if (key == "HYBRID_DP_CP_GROUP_4") return hybrid(l.dense, 4);
  throw std::runtime_error("no such group here: " + key);
}

void check_place(json::object const& record, char const* key, rank_grid const& grid,
                 char const* axes) {
  world_rank const rank(json::value_to<int>(record.at("rank")));
  auto const group = grid.group_of(rank, axis_set::parse(axes));
  CHECK(json::value_to<std::array<int, 2>>(record.at(key)) ==
        std::array{group.group_rank_of(rank)->value(), group.size()});
}

void check_megatron_rank(json::object const& record, layout const& l) {
  for (auto axes : {"tp", "pp", "dp", "cp"}) check_place(record, axes, l.dense, axes);
  check_place(record, "tp_cp", l.dense, "tp-cp");
  auto const second = second_tiling(l);
  check_place(record, "ep", second, "ep");
  check_place(record, "etp", second, "tp");
  check_place(record, "etp_ep", second, "tp-ep");
  check_place(record, "edp", second, "dp");
  world_rank const rank(json::value_to<int>(record.at("rank")));
  auto const first_of = [&](char const* axes) {
    return l.dense.group_of(rank, axis_set::parse(axes))[group_rank(0)].value();
  };
  CHECK(json::value_to<int>(record.at("tensor_src_rank")) == first_of("tp"));
  CHECK(json::value_to<int>(record.at("model_src_rank")) == first_of("tp-pp"));
  CHECK(json::value_to<int>(record.at("data_src_rank")) == first_of("dp"));
  CHECK(json::value_to<int>(record.at("pipeline_first_rank")) == first_of("pp"));
}

void check_worldfoundry_rank(json::object const& record, rank_grid const& grid) {
  for (auto axes : {"tp", "cp", "pp", "dp"}) check_place(record, axes, grid, axes);
  check_place(record, "dp_cp", grid, "dp-cp");
  check_place(record, "tp_cp", grid, "tp-cp");
  world_rank const rank(json::value_to<int>(record.at("rank")));
  auto const mp = grid.group_of(rank, axis_set::parse("tp-pp"));
  CHECK(json::value_to<std::vector<int>>(record.at("mp")) == test::plain(mp));
  auto const pp = grid.group_of(rank, axis::pp);
  int const stage = grid.at(rank).pp;
  auto const neighbour = [&](int step) {
    return pp[group_rank((stage + step + pp.size()) % pp.size())].value();
  };
  CHECK(json::value_to<int>(record.at("pp_next")) == neighbour(1));
  CHECK(json::value_to<int>(record.at("pp_prev")) == neighbour(-1));
  CHECK(record.at("last").as_bool() == (stage + 1 == pp.size()));
}

}  // namespace

TEST_CASE("53 initialisations of Megatron give the same groups and places, or are refused") {
  auto const data = test::golden("megatron_init_topology.json");
  std::map<std::string, int> skipped;
  int same = 0;
  int refused = 0;
  int accepted_here = 0;
  for (auto const& value : data.at("cases").as_array()) {
    auto const& kwargs = value.at("kwargs").as_object();
    auto const world = json::value_to<int>(value.at("world"));
    CAPTURE(world);
    CAPTURE(json::serialize(kwargs));
    if (auto const* const reason = reason_to_skip(kwargs)) {
      ++skipped[reason];
      continue;
    }
    if (value.as_object().contains("error")) {
      auto const story = test::refusal([&] {
        auto const l = megatron(world, kwargs);
        if (kwargs.contains("hybrid_context_parallel"))
          return static_cast<void>(hybrid(l.dense, 2)), true;
        auto const* const levels = kwargs.if_contains("hierarchical_context_parallel_sizes");
        if (levels != nullptr)
          static_cast<void>(hierarchical_groups(l.dense.groups(axis::cp).front(),
                                                json::value_to<std::vector<int>>(*levels), 0));
        return true;
      });
      // Without experts there is no second tiling that could disagree.
      bool const no_experts =
          order_text(kwargs, "") == "tp-cp-pp-dp" && !kwargs.contains("expert_model_parallel_size");
      CHECK_MESSAGE(test::is_refused(story) != no_experts, story);
      ++(no_experts ? accepted_here : refused);
      continue;
    }
    auto const l = megatron(world, kwargs);
    for (auto const& [key, lists] : value.at("groups").as_object())
      CHECK_MESSAGE(groups_of(l, key) == test::from_json(lists), key);
    for (auto const& record : value.at("per_rank").as_array())
      if (record.at("rank").to_number<int>() < l.dense.size())
        check_megatron_rank(record.as_object(), l);
    ++same;
  }
  int skips = 0;
  for (auto const& [reason, count] : skipped) {
    MESSAGE("skipped: " << reason << ": " << count);
    skips += count;
  }
  CHECK(same == 32);
  CHECK(refused == 13);
  CHECK(accepted_here == 1);
  CHECK(skips == 7);
}

TEST_CASE("15 initialisations of WorldFoundry give each rank the same places") {
  auto const data = test::golden("worldfoundry_init_topology.json");
  int same = 0;
  int refused = 0;
  int accepted_here = 0;
  for (auto const& value : data.at("cases").as_array()) {
    auto const& kwargs = value.at("kwargs").as_object();
    CAPTURE(json::serialize(kwargs));
    auto const make = [&] {
      return rank_grid(json::value_to<int>(value.at("world")),
                       {.tp = number(kwargs, "tp_size").value_or(1),
                        .cp = number(kwargs, "cp_size").value_or(1),
                        .pp = number(kwargs, "pp_size").value_or(1)},
                       order::innermost_first(order_text(kwargs, "tp-cp-pp-dp")));
    };
    if (value.as_object().contains("error")) {
      bool const names_ep = order_text(kwargs, "").find("ep") != std::string::npos;
      CHECK(test::is_refused(test::refusal(make)) != names_ep);
      ++(names_ep ? accepted_here : refused);
      continue;
    }
    for (auto const& record : value.at("per_rank").as_array())
      check_worldfoundry_rank(record.as_object(), make());
    ++same;
  }
  CHECK(same == 12);
  CHECK(refused == 1);
  CHECK(accepted_here == 2);
}
