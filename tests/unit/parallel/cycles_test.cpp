// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Initialise and destroy, again and again, out of step, alone, and beside other groups.
#include <doctest/doctest.h>

#include <hocket/async/seeded_context.hpp>
#include <hocket/group/detail/group_core.hpp>
#include <hocket/parallel/model_parallel.hpp>
#include <random>

#include "programs.hpp"

using namespace hocket;
using namespace std::chrono_literals;
using test::outcome_of;
using test::run_everywhere;
namespace asio = boost::asio;

namespace {

asio::awaitable<std::int64_t> sum_over(process_group g, int value) {
  auto t = tensor::full(dtype::i64, {1}, value);
  co_await g.all_reduce(t);
  co_return t.item<std::int64_t>(0);
}

std::int64_t sum_of(rank_group const& group) {
  std::int64_t sum = 0;
  for (auto const r : group) sum += r.value();
  return sum;
}

// No barrier keeps the ranks together: some are a whole life behind.
asio::awaitable<void> out_of_step(world w, seeded_context& ctx) {
  std::mt19937 pace(static_cast<unsigned>(ctx.seed()) +
                    97U * static_cast<unsigned>(w.rank().value()));
  int const me = w.rank().value();
  for (int i = 0; i < 20; ++i) {
    if (me == 1) co_await ctx.sleep(std::chrono::milliseconds(pace() % 51));
    auto s = co_await initialize_model_parallel(w, i % 2 == 0 ? 2 : 1, 1, i % 2 == 0 ? 1 : 2);
    auto const g = i % 2 == 0 ? s.tp_group() : s.cp_group();
    CHECK(g.size() == 2);
    auto sum = co_await sum_over(g, me);
    CHECK(sum == sum_of(g.members()));
    auto over_dp = co_await sum_over(s.dp_group(), me);
    CHECK(over_dp == sum_of(s.dp_group().members()));
    co_await destroy_model_parallel(s);
  }
}

// A group of five, then a mesh of 2 x 4 over all eight.
asio::awaitable<void> five_then_a_mesh(world w) {
  int const me = w.rank().value();
  process_group five;
  if (me < 5) {
    five = co_await make_group(w, rank_group::consecutive(world_rank(0), 5));
    auto sum = co_await sum_over(five, me);
    CHECK(sum == 10);
  }
  auto mesh = co_await initialize_model_parallel(w, 4, 2);
  auto along_tp = co_await sum_over(mesh.tp_group(), me);
  CHECK(along_tp == sum_of(mesh.tp_group().members()));
  auto along_pp = co_await sum_over(mesh.pp_group(), me);
  CHECK(along_pp == sum_of(mesh.pp_group().members()));
  co_await destroy_model_parallel(mesh);
  if (me < 5) co_await five.close();
}

asio::awaitable<void> only_one_destroys(world w) {
  auto s = co_await initialize_model_parallel(w, 3);
  auto const tp = s.tp_group();
  if (w.rank().value() == 0) {
    co_await destroy_model_parallel(s);
    co_return;
  }
  auto met = co_await outcome_of(tp.barrier());
  CHECK(met.code == errc::group_closed);
  CHECK(met.says("rank 0 is gone"));
  CHECK(s.is_initialized());  // here it is only rank 0 that is missing
}

asio::awaitable<void> one_has_left(world w) {
  auto s = co_await initialize_model_parallel(w, 2, 1, 2);
  if (w.rank().value() == 3) co_return;  // with its groups open
  auto met = co_await outcome_of(w.group().barrier());
  CHECK(met.code == errc::group_closed);
  CHECK(met.says("rank 3"));
  co_await destroy_model_parallel(s);
  CHECK_FALSE(s.is_initialized());
}

asio::awaitable<void> never_destroyed(world w) {
  auto s = co_await initialize_model_parallel(w, 2, 1, 2);
  auto sum = co_await sum_over(s.tp_cp_group(), w.rank().value());
  CHECK(sum == 6);
}

// The others have given up by their deadline; the late rank is told at once, and all start anew.
asio::awaitable<void> one_comes_too_late(world w, seeded_context& ctx) {
  bool const late = w.rank().value() == 2;
  if (late) co_await ctx.sleep(1h);
  auto const begin = ctx.get_clock().now();
  auto first = initialize_model_parallel(w, 2, 1, 2, std::nullopt, 1min);
  auto o = co_await outcome_of(std::move(first));
  CHECK(o.code == errc::timed_out);
  CHECK(o.says("not called by rank 2"));
  CHECK(ctx.get_clock().now() - begin == (late ? 0min : 1min));
  auto second = initialize_model_parallel(w, 2, 1, 2, std::nullopt, 2h);
  auto s = co_await std::move(second);
  auto sum = co_await sum_over(s.tp_cp_group(), w.rank().value());
  CHECK(sum == 6);
}

}  // namespace

TEST_CASE("twenty lives on one world with a slow rank: none meets another's groups") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    int const open = detail::group_core::live();
    {
      seeded_context ctx(seed);
      local_world ranks(ctx.get_executor(), 4, local_world_options().runtime(ctx.get_runtime()));
      ranks.spawn([&](world w) { return out_of_step(w, ctx); });
      ctx.run();
      ranks.rethrow();
    }
    CHECK(detail::group_core::live() == open);
  }
}

TEST_CASE("after a group of five a mesh of 2 x 4 is made, used and destroyed by all eight") {
  run_everywhere(8, five_then_a_mesh);
}

TEST_CASE("a rank that destroys alone does not wait, and its peers are told") {
  run_everywhere(3, only_one_destroys);
}

TEST_CASE("ranks destroy what a rank that has left had a part in") {
  run_everywhere(4, one_has_left);
}

TEST_CASE("a state that is never destroyed ends with its world") {
  int const open = detail::group_core::live();
  run_everywhere(4, never_destroyed);
  CHECK(detail::group_core::live() == open);
}

TEST_CASE("an initialisation past its deadline has failed for all, for who comes later at once") {
  seeded_context ctx(3);
  local_world ranks(ctx.get_executor(), 4, local_world_options().runtime(ctx.get_runtime()));
  ranks.spawn([&](world w) { return one_comes_too_late(w, ctx); });
  ctx.run();
  ranks.rethrow();
}
