// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <atomic>
#include <chrono>
#include <hocket/group/detail/group_core.hpp>
#include <hocket/parallel/context_parallel.hpp>
#include <hocket/parallel/model_parallel.hpp>
#include <hocket/pipeline/pp_scheduler.hpp>
#include <refusal.hpp>

#include "programs.hpp"

using namespace hocket;
using namespace std::chrono_literals;
using test::outcome_of;
using test::refusal;
using test::run_everywhere;
namespace asio = boost::asio;

namespace {

// A sum over the group without reductions: every rank's value, gathered.
asio::awaitable<std::int64_t> sum_of_ranks(process_group g, int me) {
  auto all = co_await cat_outputs_cp(tensor::full(dtype::i64, shape(1), me), 0, g);
  std::int64_t sum = 0;
  for (int i = 0; i < g.size(); ++i) sum += all.item<std::int64_t>(i);
  co_return sum;
}

asio::awaitable<void> use_every_group(ParallelState s) {
  int const me = s.rank().value();
  for (auto const axes : {axis_set(axis::tp), axis_set(axis::cp), axis_set(axis::pp),
                          axis_set(axis::dp), axis_set(axis::tp, axis::cp)}) {
    std::int64_t right = 0;
    for (auto const r : s.ranks(axes)) right += r.value();
    auto sum = co_await sum_of_ranks(s.group(axes), me);
    CHECK(sum == right);
  }
}

asio::awaitable<void> cycles(world w) {
  static std::atomic<int> idle{0};
  co_await w.group().barrier();
  if (w.rank().value() == 0) idle = detail::group_core::live();
  co_await w.group().barrier();
  std::string first;
  for (int i = 0; i < 6; ++i) {
    auto s = co_await initialize_model_parallel(w, 2, 2, 2);
    CHECK(s.is_initialized());
    co_await use_every_group(s);
    co_await destroy_model_parallel(s);
    CHECK_FALSE(s.is_initialized());
    CHECK(refusal([&] { return s.tp_rank(); }, errc::not_initialized).find("was destroyed") !=
          std::string::npos);
    CHECK(test::is_refused(refusal([&] { return s.pp_first(); }, errc::not_initialized)));
    CHECK(test::is_refused(refusal([&] { return s.cp_group(); }, errc::not_initialized)));
    co_await destroy_model_parallel(s);
    co_await w.group().barrier();
    CHECK(detail::group_core::live() == idle);
    co_await w.group().barrier();
  }
  auto s = co_await initialize_model_parallel(w, 4, 2);
  CHECK(s.tp_size() == 4);
  CHECK(s.cp_size() == 1);
  CHECK(s.cp_group().is_disabled());
  CHECK(s.tp_group().size() == 4);
  CHECK(s.pp_next().value() == (w.rank().value() + 4) % 8);
  co_await use_every_group(s);
}

asio::awaitable<void> kept_groups(world w) {
  auto s = co_await initialize_model_parallel(w, 2, 1, 3);
  auto const cp = s.cp_group();
  co_await w.group().barrier();
  int const open = detail::group_core::live();
  co_await w.group().barrier();
  co_await destroy_model_parallel(s, false);
  co_await w.group().barrier();
  CHECK(detail::group_core::live() == open);
  co_await w.group().barrier();
  auto again = co_await initialize_model_parallel(w, 2, 1, 3);
  CHECK(again.cp_group() == cp);
  CHECK_FALSE(again == s);
  CHECK(detail::group_core::live() == open);
  co_await use_every_group(again);
  auto other = co_await again.reshape(axis_sizes{.tp = 3, .dp = 2}, order());
  CHECK(other.tp_size() == 3);
  CHECK_FALSE(again.is_initialized());
  co_await use_every_group(other);
  auto const story = refusal([&] { return other.group(axis_set(axis::cp, axis::pp)); });
  CHECK(story.find("no group is made along cp-pp") != std::string::npos);
  auto wrong = co_await outcome_of(other.reshape(axis_sizes{.tp = 4, .dp = 2}, order()));
  CHECK(wrong.code == errc::invalid_argument);
  CHECK(other.is_initialized());
}

asio::awaitable<void> twice(world w) {
  auto first = initialize_model_parallel(w, 2, 1, 2);
  auto meanwhile = initialize_model_parallel(w, 2, 1, 2);
  auto conflict = co_await outcome_of(initialize_model_parallel(w, 4));
  CHECK(conflict.code == errc::already_initialized);
  auto a = co_await std::move(first);
  auto b = co_await std::move(meanwhile);
  CHECK(a == b);
  auto c = co_await initialize_model_parallel(w, 2, 1, 2);
  CHECK(a == c);
  auto other = co_await outcome_of(initialize_model_parallel(w, 1, 2, 2));
  CHECK(other.code == errc::already_initialized);
  CHECK(other.says("tp 2 * cp 2 * ep 1 * dp 1 * pp 1"));
  CHECK(other.says("tp 1 * cp 2 * ep 1 * dp 1 * pp 2"));
  CHECK(a.is_initialized());
  co_await use_every_group(a);
}

asio::awaitable<void> refused_before_anything(world w) {
  co_await w.group().barrier();
  int const open = detail::group_core::live();
  co_await w.group().barrier();
  auto world_4 = co_await outcome_of(initialize_model_parallel(w, 1, 1, 8));
  CHECK(world_4.code == errc::invalid_argument);
  CHECK(world_4.says("cp 8"));
  CHECK(world_4.says("world 6"));
  auto product = co_await outcome_of(ParallelState::init(w, axis_sizes{.tp = 2, .dp = 1, .pp = 2}));
  CHECK(product.code == errc::invalid_argument);
  CHECK(product.says("tp 2"));
  model_parallel_options experts;
  experts.ep(4).etp(1);
  auto experts_4 =
      initialize_model_parallel(w, 1, 1, 1, std::nullopt, 1min, "tp-cp-ep-dp-pp", experts);
  auto indivisible = co_await outcome_of(std::move(experts_4));
  CHECK(indivisible.code == errc::invalid_argument);
  auto yaml = initialize_model_parallel(w, 2, 1, 1, "nccl.yaml");
  auto options = co_await outcome_of(std::move(yaml));
  CHECK(options.code == errc::unsupported);
  CHECK(options.says("nccl.yaml"));
  auto name = initialize_model_parallel(w, 2, 1, 1, std::nullopt, 1min, "tp-xx-dp");
  auto token = co_await outcome_of(std::move(name));
  CHECK(token.code == errc::invalid_argument);
  model_parallel_options pieces;
  pieces.virtual_pp(2);
  auto unstaged = initialize_model_parallel(w, 2, 1, 1, std::nullopt, 1min, "tp-cp-pp-dp", pieces);
  auto stages = co_await outcome_of(std::move(unstaged));
  CHECK(stages.code == errc::invalid_argument);
  co_await w.group().barrier();
  CHECK(detail::group_core::live() == open);
  co_await w.group().barrier();
}

asio::awaitable<void> other_topologies(world w) {
  co_await w.group().barrier();
  int const open = detail::group_core::live();
  co_await w.group().barrier();
  int const tp = w.rank().value() == 3 ? 4 : 2;
  auto o = co_await outcome_of(initialize_model_parallel(w, tp));
  CHECK(o.code == errc::mismatch);
  CHECK(o.says("world rank 0: tp 2"));
  CHECK(o.says("world rank 3: tp 4"));
  co_await w.group().barrier();
  CHECK(detail::group_core::live() == open);
  co_await w.group().barrier();
  auto s = co_await initialize_model_parallel(w, 4);
  co_await use_every_group(s);
}

asio::awaitable<void> wrong_on_one_rank(world w) {
  bool const wrong = w.rank().value() == 2;
  auto o = co_await outcome_of(initialize_model_parallel(w, wrong ? 4 : 3));
  CHECK(o.code == (wrong ? errc::invalid_argument : errc::peer_failed));
  CHECK(o.says("tp 4"));
  CHECK(o.says("world 6"));
  auto s = co_await initialize_model_parallel(w, 3);
  co_await use_every_group(s);
  auto again = co_await outcome_of(initialize_model_parallel(w, 4));
  CHECK(again.code == errc::invalid_argument);
  CHECK(s.is_initialized());
}

asio::awaitable<void> beside_each_other(world w) {
  int const me = w.rank().value();
  model_parallel_options half;
  half.rank_offset(me < 4 ? 0 : 4).local_world_size(4);
  if (me == 8) {
    half.rank_offset(4);
    auto outside = initialize_model_parallel(w, 2, 1, 2, std::nullopt, 1min, "tp-cp-pp-dp", half);
    auto o = co_await outcome_of(std::move(outside));
    CHECK(o.code == errc::not_a_member);
    CHECK(o.says("world rank 8"));
    co_return;
  }
  auto made = initialize_model_parallel(w, 2, 1, 2, std::nullopt, 1min, "tp-cp-pp-dp", half);
  auto s = co_await std::move(made);
  CHECK(s.tp_src().value() == me / 2 * 2);
  CHECK(s.tp_cp_last().value() == me / 4 * 4 + 3);
  CHECK(s.is_last_rank() == (me % 4 == 3));
  co_await use_every_group(s);
}

asio::awaitable<void> without_a_name(world w) {
  auto const alone = w.size() == 1;
  auto o = co_await outcome_of(initialize_model_parallel());
  if (alone) {
    CHECK(o.code == boost::system::error_code());
    CHECK(model_parallel_is_initialized());
    CHECK(get_tp_world_size() == 1);
    CHECK(get_dp_group().is_disabled());
    CHECK(parallel_state() == parallel_state());
    CHECK(is_last_rank());
    CHECK(get_pipeline_model_parallel_next_rank() == world_rank(0));
    init_pp_scheduler();
    CHECK(test::is_refused(refusal([] { return init_pp_scheduler(); }, errc::already_initialized)));
    co_await destroy_model_parallel();
    CHECK_FALSE(model_parallel_is_initialized());
    co_await destroy_model_parallel();
    CHECK(test::is_refused(refusal([] { return get_tp_group(); }, errc::not_initialized)));
  } else {
    CHECK(o.code == errc::ambiguous_rank);
    CHECK(o.says("hosts 3 ranks"));
    CHECK(test::is_refused(refusal([] { return get_tp_group(); }, errc::ambiguous_rank)));
  }
  co_await w.group().barrier();
}

}  // namespace

TEST_CASE("six times initialised and destroyed leaves no group open, and the next is wholly new") {
  run_everywhere(8, cycles);
}
TEST_CASE("groups that are kept serve the next state, and reshape changes the topology") {
  run_everywhere(6, kept_groups);
}
TEST_CASE("the same topology again is the same state, another is refused naming both") {
  run_everywhere(4, twice);
}
TEST_CASE("wrong sizes, orders and options are refused with numbers before anything is made") {
  run_everywhere(6, refused_before_anything);
}
TEST_CASE("ranks that ask for different topologies are all told, and nothing remains") {
  run_everywhere(4, other_topologies);
}
TEST_CASE("sizes that are wrong on one rank alone are told to all, and the next attempt works") {
  run_everywhere(6, wrong_on_one_rank);
}
TEST_CASE("two grids beside each other in one world do not meet") {
  run_everywhere(9, beside_each_other);
}
TEST_CASE("calls without a state mean the process's only rank, and are refused among several") {
  run_everywhere(1, without_a_name);
  run_everywhere(3, without_a_name);
  CHECK(test::is_refused(refusal([] { return parallel_state(); }, errc::not_initialized)));
  CHECK(test::is_refused(refusal([] { return ParallelState().tp_rank(); }, errc::not_initialized)));
  CHECK_FALSE(model_parallel_is_initialized());
}
