// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// No accessor of a state that is gone gives what was there before.
#include <doctest/doctest.h>

#include <functional>
#include <hocket/parallel/model_parallel.hpp>
#include <hocket/pipeline/pp_scheduler.hpp>
#include <string>
#include <vector>

#include "programs.hpp"
#include "refusal.hpp"

using namespace hocket;
using test::is_refused;
using test::refusal;
namespace asio = boost::asio;

namespace {

using state = ParallelState const&;

class accessor {
 public:
  template <class F>
  accessor(std::string n, F f) : name(std::move(n)), call([f](state s) { (void)f(s); }) {}
  std::string name;
  std::function<void(state)> call;
};

#define MEMBER(f) accessor(#f, [](state s) { return s.f(); })
#define FUNCTION(f) accessor(#f, [](state s) { return f(s); })

std::vector<accessor> members() {
  return {MEMBER(grid),         MEMBER(rank),
          MEMBER(place),        MEMBER(virtual_pp_size),
          MEMBER(describe),     MEMBER(tp_rank),
          MEMBER(cp_rank),      MEMBER(ep_rank),
          MEMBER(dp_rank),      MEMBER(pp_rank),
          MEMBER(etp_rank),     MEMBER(edp_rank),
          MEMBER(tp_size),      MEMBER(cp_size),
          MEMBER(ep_size),      MEMBER(dp_size),
          MEMBER(pp_size),      MEMBER(etp_size),
          MEMBER(edp_size),     MEMBER(tp_group),
          MEMBER(cp_group),     MEMBER(ep_group),
          MEMBER(dp_group),     MEMBER(pp_group),
          MEMBER(tp_cp_group),  MEMBER(dp_cp_group),
          MEMBER(tp_dp_group),  MEMBER(tp_dp_cp_group),
          MEMBER(etp_group),    MEMBER(model_parallel_group),
          MEMBER(edp_group),    MEMBER(etp_ep_group),
          MEMBER(ep_ranks),     MEMBER(etp_ep_pp_group),
          MEMBER(etp_ranks),    MEMBER(edp_ranks),
          MEMBER(etp_ep_ranks), MEMBER(etp_ep_pp_ranks),
          MEMBER(is_last_rank), MEMBER(is_first_pp_stage),
          MEMBER(tp_src),       MEMBER(is_last_pp_stage),
          MEMBER(tp_last),      MEMBER(is_last_tp_cp_rank),
          MEMBER(tp_cp_src),    MEMBER(tp_cp_last),
          MEMBER(pp_first),     MEMBER(pp_last),
          MEMBER(pp_next),      MEMBER(pp_prev),
          MEMBER(core),         accessor("group", [](state s) { return s.group(axis::tp); }),
          MEMBER(get_tp_group), accessor("ranks", [](state s) { return s.ranks(axis::tp); })};
}

std::vector<accessor> functions() {
  return {FUNCTION(get_tp_group),
          FUNCTION(get_dp_group),
          FUNCTION(get_cp_group),
          FUNCTION(get_pp_group),
          FUNCTION(get_ep_group),
          FUNCTION(get_model_parallel_group),
          FUNCTION(get_tp_rank),
          FUNCTION(get_dp_rank),
          FUNCTION(get_cp_rank),
          FUNCTION(get_pp_rank),
          FUNCTION(get_ep_rank),
          FUNCTION(get_tp_world_size),
          FUNCTION(get_dp_world_size),
          FUNCTION(get_cp_world_size),
          FUNCTION(get_pp_world_size),
          FUNCTION(get_ep_world_size),
          FUNCTION(is_pipeline_first_stage),
          FUNCTION(is_pipeline_last_stage),
          FUNCTION(is_last_rank),
          FUNCTION(is_last_tp_cp_rank),
          FUNCTION(get_tensor_model_parallel_src_rank),
          FUNCTION(get_tensor_model_parallel_last_rank),
          FUNCTION(get_tensor_model_parallel_ranks),
          FUNCTION(get_pipeline_model_parallel_first_rank),
          FUNCTION(get_pipeline_model_parallel_last_rank),
          FUNCTION(get_pipeline_model_parallel_next_rank),
          FUNCTION(get_pipeline_model_parallel_prev_rank),
          FUNCTION(pp_scheduler),
          FUNCTION(init_pp_scheduler)};
}

void check_gone(state s) {
  CHECK_FALSE(s.is_initialized());
  CHECK_FALSE(model_parallel_is_initialized(s));
  for (auto const& list : {members(), functions()})
    for (auto const& a : list) {
      auto const call = [&] { return a.call(s), true; };
      CHECK_MESSAGE(is_refused(refusal(call, errc::not_initialized)), a.name);
    }
}

void check_there(state s) {
  for (auto const& a : members()) CHECK_NOTHROW_MESSAGE(a.call(s), a.name);
  for (auto const& a : functions())
    if (a.name != "pp_scheduler") CHECK_NOTHROW_MESSAGE(a.call(s), a.name);
}

asio::awaitable<void> made_and_gone(world w) {
  model_parallel_options experts;
  experts.ep(2).etp(2);
  auto made = initialize_model_parallel(w, 2, 2, 1, std::nullopt, std::chrono::minutes(1),
                                        "tp-cp-ep-dp-pp", experts);
  auto s = co_await std::move(made);
  check_there(s);
  auto const copy = s;
  auto changed = co_await s.reshape(axis_sizes{.tp = 4, .dp = 2}, order());
  check_gone(s);
  check_gone(copy);
  co_await destroy_model_parallel(s);  // of a state that is gone: the new one stays
  CHECK(changed.tp_size() == 4);
  co_await w.group().barrier();
  co_await destroy_model_parallel(changed);
  check_gone(changed);
  co_await w.group().barrier();
  auto again = co_await initialize_model_parallel(w, 1, 2, 4);
  CHECK(again.cp_size() == 4);
  check_gone(s);
  check_gone(changed);
  co_await w.group().barrier();
}

}  // namespace

TEST_CASE("every accessor of a state that was destroyed, reshaped or never made says so") {
  test::run_everywhere(8, made_and_gone);
  check_gone(ParallelState());
}
