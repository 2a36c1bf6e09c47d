// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// How `hocket bench` measures on one rank.
#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <utility>

#include "bench.hpp"

namespace hocket::tools {
namespace {

namespace asio = boost::asio;

// What each rank's link carries for one byte of the size, as nccl-tests count.
double bus_factor(std::string_view op, double n) {
  if (op == "all_reduce") return 2 * (n - 1) / n;
  if (op == "all_gather" || op == "reduce_scatter" || op == "all_to_all" || op == "gather" ||
      op == "scatter")
    return (n - 1) / n;
  return 1;
}

// Seconds that this rank's calls take, one after another.
asio::awaitable<double> time_of(bench_case& c, process_group group, std::int64_t times) {
  auto together = group.barrier();
  co_await std::move(together);
  auto const start = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < times; ++i) co_await c.once();
  std::chrono::duration<double> const took = std::chrono::steady_clock::now() - start;
  co_return took.count();
}

// More and more calls at once until they take the time wanted; rank 0 decides. Microseconds of one.
asio::awaitable<double> time_of_one(bench_case& c, process_group group, double seconds) {
  std::int64_t times = 2;
  for (;;) {
    double const took = co_await time_of(c, group, times);
    std::optional<std::int64_t> next;
    if (group.rank().value() == 0) {
      auto const fitting = static_cast<std::int64_t>(static_cast<double>(times) * 1.1 * seconds /
                                                     std::max(took, 1e-9));
      next = took >= seconds ? 0 : std::clamp(fitting, times + 1, times * 10);
    }
    auto told = group.broadcast_object<std::int64_t>(next, group_rank(0));
    auto const more = co_await std::move(told);
    if (more != 0) {
      times = more;
      continue;
    }
    auto all = group.gather_objects(took / static_cast<double>(times), group_rank(0));
    auto const each = co_await std::move(all);
    co_return each.empty()
        ? 0.0
        : 1e6 * std::accumulate(each.begin(), each.end(), 0.0) / static_cast<double>(each.size());
  }
}

asio::awaitable<bench_row> measure_one(bench_case& c, process_group group, bench_plan const& plan,
                                       placement where) {
  bench_row row;
  row.bytes = c.bytes();
  row.where = where;
  c.fill();
  co_await c.once();
  auto checked = group.gather_objects(c.wrong(), group_rank(0));
  auto const wrong = co_await std::move(checked);
  row.wrong = std::accumulate(wrong.begin(), wrong.end(), std::int64_t{0});
  row.time_us = co_await time_of_one(c, group, plan.seconds);
  if (row.time_us > 0) row.algbw = static_cast<double>(row.bytes) / row.time_us / 1e3;
  row.busbw = row.algbw * bus_factor(plan.op, group.size());
  co_return row;
}

}  // namespace

asio::awaitable<std::vector<bench_row>> measure(process_group group, bench_plan const& plan) {
  std::vector<bench_row> rows;
  for (auto const bytes : plan.bytes) {
    for (auto const where : {placement::out_of_place, placement::in_place}) {
      auto const c = make_bench_case(plan.op, group, bytes, where);
      if (!c) continue;
      auto const row = co_await measure_one(*c, group, plan, where);
      if (group.rank().value() == 0) rows.push_back(row);
    }
  }
  co_return rows;
}

}  // namespace hocket::tools
