// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <golden.hpp>
#include <hocket/parallel/model_parallel.hpp>
#include <ranks.hpp>
#include <string>
#include <vector>

#include "programs.hpp"

using namespace hocket;
namespace asio = boost::asio;
namespace json = boost::json;

namespace {

int int_of(json::object const& o, char const* key, int otherwise) {
  auto const* const v = o.if_contains(key);
  return v != nullptr ? static_cast<int>(v->as_int64()) : otherwise;
}

rank_group list_of(json::value const& v) {
  std::vector<world_rank> ranks;
  for (auto const& r : v.as_array()) ranks.emplace_back(static_cast<int>(r.as_int64()));
  return rank_group(ranks);
}

// The list that has this rank.
rank_group mine(json::value const& lists, world_rank me) {
  for (auto const& l : lists.as_array())
    if (auto g = list_of(l); g.contains(me)) return g;
  return {};
}

// The group is the one of these ranks, disabled where there is one.
void check_group(process_group const& g, rank_group const& right, world_rank me) {
  CHECK(g.size() == right.size());
  CHECK(g.is_disabled() == (right.size() == 1));
  CHECK(g.rank() == right.group_rank_of(me));
  if (!g.is_disabled()) CHECK(g.members() == right);
}

json::object const* record = nullptr;  // of the program that runs

void check_place(process_group const& g, json::value const& place) {
  CHECK(g.rank().value() == place.as_array()[0].as_int64());
  CHECK(g.size() == place.as_array()[1].as_int64());
}

void check_world_rank(world_rank r, json::value const& right) {
  CHECK(r.value() == right.as_int64());
}

asio::awaitable<void> world_foundry(world w) {
  auto const& kwargs = record->at("kwargs").as_object();
  std::string const text =
      kwargs.contains("order") ? kwargs.at("order").as_string().c_str() : "tp-cp-pp-dp";
  auto made = initialize_model_parallel(w, int_of(kwargs, "tp_size", 1),
                                        int_of(kwargs, "pp_size", 1), int_of(kwargs, "cp_size", 1),
                                        std::nullopt, std::chrono::minutes(1), text);
  auto s = co_await std::move(made);
  for (auto const& entry : record->at("per_rank").as_array()) {
    auto const& right = entry.as_object();
    if (right.at("rank").as_int64() != w.rank().value()) continue;
    check_place(get_tp_group(s), right.at("tp"));
    check_place(get_cp_group(s), right.at("cp"));
    check_place(get_pp_group(s), right.at("pp"));
    check_place(get_dp_group(s), right.at("dp"));
    check_place(get_dp_group(s, true), right.at("dp_cp"));
    check_place(get_tp_group(s, true), right.at("tp_cp"));
    CHECK(get_tp_rank(s, true) == right.at("tp_cp").as_array()[0].as_int64());
    CHECK(get_dp_world_size(s, true) == right.at("dp_cp").as_array()[1].as_int64());
    CHECK(is_last_tp_cp_rank(s) == right.at("is_last_tp_cp_rank").as_bool());
    CHECK(is_last_rank(s) == (w.rank().value() == w.size() - 1));
    check_world_rank(get_tensor_model_parallel_src_rank(s), right.at("tp_src"));
    check_world_rank(get_tensor_model_parallel_src_rank(s, true), right.at("tp_cp_src"));
    check_world_rank(get_tensor_model_parallel_last_rank(s), right.at("tp_last"));
    check_world_rank(get_tensor_model_parallel_last_rank(s, true), right.at("tp_cp_last"));
    check_world_rank(get_pipeline_model_parallel_first_rank(s), right.at("pp_first"));
    check_world_rank(get_pipeline_model_parallel_last_rank(s), right.at("pp_last"));
    check_world_rank(get_pipeline_model_parallel_next_rank(s), right.at("pp_next"));
    check_world_rank(get_pipeline_model_parallel_prev_rank(s), right.at("pp_prev"));
    CHECK(is_pipeline_first_stage(s) == right.at("first").as_bool());
    CHECK(is_pipeline_last_stage(s) == right.at("last").as_bool());
    check_group(get_model_parallel_group(s), list_of(right.at("mp")), w.rank());
  }
  co_await destroy_model_parallel(s);
}

asio::awaitable<void> refused_by_world_foundry(world w) {
  auto const& kwargs = record->at("kwargs").as_object();
  auto made = initialize_model_parallel(w, int_of(kwargs, "tp_size", 1),
                                        int_of(kwargs, "pp_size", 1), int_of(kwargs, "cp_size", 1));
  auto o = co_await test::outcome_of(std::move(made));
  CHECK(o.code == errc::invalid_argument);
  CHECK(o.says("initialize_model_parallel"));
  CHECK(o.says(std::to_string(w.size())));
  CHECK(o.says("16"));
}

// What of Megatron's options this library has.
bool is_ours(json::object const& kwargs) {
  for (auto const& [key, value] : kwargs)
    if (key != "tensor_model_parallel_size" && key != "pipeline_model_parallel_size" &&
        key != "context_parallel_size" && key != "expert_model_parallel_size" &&
        key != "expert_tensor_parallel_size" && key != "order" &&
        key != "virtual_pipeline_model_parallel_size" && key != "create_gloo_process_groups")
      return false;
  return true;
}

asio::awaitable<void> megatron(world w) {
  auto const& kwargs = record->at("kwargs").as_object();
  std::string const text =
      kwargs.contains("order") ? kwargs.at("order").as_string().c_str() : "tp-cp-ep-dp-pp";
  model_parallel_options more;  // Megatron has an experts' view always
  more.ep(int_of(kwargs, "expert_model_parallel_size", 1));
  if (kwargs.contains("expert_tensor_parallel_size"))
    more.etp(int_of(kwargs, "expert_tensor_parallel_size", 1));
  more.virtual_pp(int_of(kwargs, "virtual_pipeline_model_parallel_size", 1));
  auto made = initialize_model_parallel(w, int_of(kwargs, "tensor_model_parallel_size", 1),
                                        int_of(kwargs, "pipeline_model_parallel_size", 1),
                                        int_of(kwargs, "context_parallel_size", 1), std::nullopt,
                                        std::chrono::minutes(1), text, more);
  auto s = co_await std::move(made);
  auto const& groups = record->at("groups").as_object();
  auto const me = w.rank();
  check_group(s.tp_group(), mine(groups.at("tp"), me), me);
  check_group(s.cp_group(), mine(groups.at("cp"), me), me);
  check_group(s.dp_group(), mine(groups.at("dp"), me), me);
  check_group(s.pp_group(), mine(groups.at("pp"), me), me);
  check_group(s.dp_cp_group(), mine(groups.at("dp_cp"), me), me);
  check_group(s.model_parallel_group(), mine(groups.at("mp"), me), me);
  check_group(s.tp_dp_cp_group(), mine(groups.at("tp_dp_cp"), me), me);
  check_group(s.tp_dp_group(), mine(groups.at("tp_dp"), me), me);
  check_group(s.tp_cp_group(), mine(groups.at("tp_cp"), me), me);
  check_group(s.ep_group(), mine(groups.at("ep"), me), me);
  check_group(s.etp_group(), mine(groups.at("ep_tp"), me), me);
  check_group(s.edp_group(), mine(groups.at("ep_dp"), me), me);
  check_group(s.etp_ep_group(), mine(groups.at("tp_ep_mp"), me), me);
  check_group(s.etp_ep_pp_group(), mine(groups.at("tp_ep_pp"), me), me);
  CHECK(s.ep_ranks() == mine(groups.at("ep"), me));
  CHECK(s.etp_ep_pp_ranks() == mine(groups.at("tp_ep_pp"), me));
  co_await destroy_model_parallel(s);
}

asio::awaitable<void> curry(world w) {
  axis_sizes sizes;
  for (auto const a : all_axes) sizes[a] = int_of(*record, std::string(name_of(a)).c_str(), 1);
  auto s = co_await ParallelState::init(w, sizes);
  auto const me = w.rank();
  auto const& at = record->at("coords_dp_tp_pp_ep_cp").as_array();
  auto const& place = at[static_cast<std::size_t>(me.value())].as_array();
  CHECK(s.dp_rank() == place[0].as_int64());
  CHECK(s.tp_rank() == place[1].as_int64());
  CHECK(s.pp_rank() == place[2].as_int64());
  CHECK(s.ep_rank() == place[3].as_int64());
  CHECK(s.cp_rank() == place[4].as_int64());
  auto const& groups = record->at("groups").as_object();
  check_group(s.get_tp_group(), mine(groups.at("tp"), me), me);
  check_group(s.get_cp_group(), mine(groups.at("cp"), me), me);
  check_group(s.get_ep_group(), mine(groups.at("ep"), me), me);
  check_group(s.get_dp_group(), mine(groups.at("dp"), me), me);
  check_group(s.get_pp_group(), mine(groups.at("pp"), me), me);
  check_group(s.tp_cp_group(), mine(groups.at("cp-tp"), me), me);
  check_group(s.dp_cp_group(), mine(groups.at("cp-dp"), me), me);
  check_group(s.model_parallel_group(), mine(groups.at("tp-pp"), me), me);
  for (auto const& [axes, lists] : groups) {
    std::string const names(axes);
    CHECK(s.ranks(axis_set::parse(names)) == mine(lists, me));
  }
  CHECK(s.is_first_pp_stage() == (place[2].as_int64() == 0));
  CHECK(s.is_last_pp_stage() == (place[2].as_int64() == s.pp_size() - 1));
}

asio::awaitable<void> both_notations(world w) {
  int const me = w.rank().value();
  auto megatron_order = co_await initialize_model_parallel(w, 2, 2, 2);
  CHECK(megatron_order.tp_src().value() == me / 2 * 2);
  CHECK(megatron_order.ranks(axis::cp).lowest().value() == me / 4 * 4 + me % 2);
  CHECK(megatron_order.pp_next().value() == (me + 4) % 8);
  co_await destroy_model_parallel(megatron_order);
  axis_sizes sizes;
  sizes.tp = sizes.cp = sizes.pp = 2;
  auto curry_order = co_await ParallelState::init(w, sizes);
  CHECK(curry_order.ranks(axis::cp).lowest().value() == me / 2 * 2);
  CHECK(curry_order.tp_src().value() == me / 4 * 4 + me % 2);
  CHECK(curry_order.pp_next().value() == (me + 4) % 8);
}

asio::awaitable<void> experts_and_context(world w) {
  int const me = w.rank().value();
  model_parallel_options experts;
  experts.ep(4).etp(1);
  auto made = initialize_model_parallel(w, 2, 1, 2, std::nullopt, std::chrono::minutes(1),
                                        "tp-cp-ep-dp-pp", experts);
  auto s = co_await std::move(made);
  CHECK(s.ep_group().members() == rank_group::consecutive(world_rank(me / 4 * 4), 4));
  CHECK(s.edp_group().members() == rank_group::of(me % 4, me % 4 + 4));
  CHECK(s.dp_group().members() == rank_group::of(me % 4, me % 4 + 4));
  CHECK(s.dp_cp_group().members() == rank_group::of(me % 2, me % 2 + 2, me % 2 + 4, me % 2 + 6));
  CHECK(s.ep_rank() == me % 4);
  CHECK(s.ep_size() == 4);
  CHECK(s.etp_size() == 1);
  CHECK(s.etp_group().is_disabled());
  CHECK(s.edp_rank() == me / 4);
}

}  // namespace

TEST_CASE("Megatron's and CurryTrain's orders of the same sizes are both right") {
  test::run_everywhere(8, both_notations);
}
TEST_CASE("experts over 8 ranks with tp 2 and cp 2 have their own groups") {
  test::run_everywhere(8, experts_and_context);
}

TEST_CASE("every accessor is what WorldFoundry's initialize_model_parallel gives each rank") {
  auto const file = test::golden("worldfoundry_init_topology.json");
  int checked = 0;
  for (auto const& c : file.at("cases").as_array()) {
    record = &c.as_object();
    int const n = static_cast<int>(record->at("world").as_int64());
    CAPTURE(json::serialize(record->at("kwargs")));
    if (record->contains("per_rank")) {
      test::run_ranks(n, world_foundry);
      ++checked;
    } else if (record->at("kwargs").as_object().contains("cp_size")) {
      test::run_ranks(n, refused_by_world_foundry);
      ++checked;
    }  // the rest: an order that names ep, which is right here
  }
  CHECK(checked == 13);
}

TEST_CASE("the groups are Megatron's, with experts over the ranks of tp, cp and dp") {
  auto const file = test::golden("megatron_init_topology.json");
  int checked = 0;
  for (auto const& c : file.at("cases").as_array()) {
    record = &c.as_object();
    if (!record->contains("groups") || !is_ours(record->at("kwargs").as_object())) continue;
    CAPTURE(json::serialize(record->at("kwargs")));
    test::run_ranks(static_cast<int>(record->at("world").as_int64()), megatron);
    ++checked;
  }
  CHECK(checked >= 20);
  MESSAGE(checked << " layouts");
}

TEST_CASE("places and groups are CurryTrain's for every layout of its five axes up to 64 ranks") {
  auto const file = test::golden("curry_parallel_state.json");
  int checked = 0;
  for (auto const& c : file.at("records").as_array()) {
    record = &c.as_object();
    int const n = static_cast<int>(record->at("world").as_int64());
    if (n > 64) continue;
    CAPTURE(n);
    test::run_ranks(n, curry);
    ++checked;
  }
  CHECK(checked >= 20);
  MESSAGE(checked << " layouts");
}
