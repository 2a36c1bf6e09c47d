// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// What `hocket bench` prints.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "algorithm/slices.hpp"
#include "bench.hpp"
#include "engine/host/announcement.hpp"
#include "standard_output.hpp"

namespace hocket::tools {
namespace {

bool is_cut(std::string_view op) {
  return op == "scatter" || op == "all_to_all" || op == "reduce_scatter" || op == "all_gather" ||
         op == "gather";
}

std::string cells(bench_row const& row) {
  return fmt::format(" {:>10.2f} {:>8.3f} {:>8.3f} {:>7}", row.time_us, row.algbw, row.busbw,
                     row.wrong);
}

void print_json(bench_plan const& plan, std::vector<bench_row> const& rows) {
  boost::json::array all;
  for (auto const& row : rows) {
    boost::json::object one{{"op", plan.op},
                            {"engine", plan.engine},
                            {"ranks", plan.ranks},
                            {"bytes", row.bytes},
                            {"time_us", row.time_us},
                            {"algbw", row.algbw},
                            {"busbw", row.busbw},
                            {"wrong", row.wrong},
                            {"in_place", row.where == placement::in_place}};
    if (plan.explain) one["way"] = bench_way(plan, row.bytes);
    all.push_back(std::move(one));
  }
  put(boost::json::serialize(all) + "\n");
}

}  // namespace

std::string bench_way(bench_plan const& plan, std::int64_t bytes) {
  if (plan.engine == "local") return "copied inside the process";
  if (plan.op == "barrier" || bytes == 0) return "calls only";
  auto const n = static_cast<std::int64_t>(plan.ranks);
  auto const gift = static_cast<std::size_t>(is_cut(plan.op) ? bytes / n : bytes);
  int const receivers =
      plan.op == "send_recv" || plan.op == "gather" || plan.op == "reduce" ? 1 : plan.ranks - 1;
  bool const reads = plan.engine == "host-shm";
  auto const frames = fmt::format("frames of {} KiB", host::chunk_bytes_max / 1024);
  auto const by = reads ? std::string("read from the giver's memory") : frames;
  if (plan.op == "all_reduce" || plan.op == "reduce") {
    if (algorithm::reduces_in_slices(gift, plan.ranks)) {
      auto const slice = algorithm::slice_of(bytes, 1, plan.ranks, 0).length;
      return fmt::format("two phases, slices of {} bytes, {}", slice, by);
    }
  }
  if (host::fits_inline(gift, receivers)) return "inside the call";
  return fmt::format("{} bytes from each giver, {}", gift, by);
}

void print_rows(bench_plan const& plan, std::vector<bench_row> const& rows) {
  if (plan.json) return print_json(plan, rows);
  put(fmt::format("# {} engine {} ranks {}: time in us, bandwidths in GB/s, wrong: elements\n",
                  plan.op, plan.engine, plan.ranks));
  put(fmt::format("{:>12} {:>36} {:>36}\n", "", "out of place", "in place"));
  put(fmt::format("{:>12} {:>10} {:>8} {:>8} {:>7} {:>10} {:>8} {:>8} {:>7}\n", "bytes", "time",
                  "algbw", "busbw", "wrong", "time", "algbw", "busbw", "wrong"));
  auto const none = fmt::format(" {:>10} {:>8} {:>8} {:>7}", "-", "-", "-", "-");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto const& row = rows[i];
    bool const is_pair = row.where == placement::out_of_place && i + 1 < rows.size() &&
                         rows[i + 1].where == placement::in_place;
    auto line = fmt::format("{:>12}", row.bytes);
    line += row.where == placement::out_of_place ? cells(row) : none + cells(row);
    if (is_pair) line += cells(rows[++i]);
    if (row.where == placement::out_of_place && !is_pair) line += none;
    if (plan.explain) line += "  " + bench_way(plan, row.bytes);
    put(line + "\n");
  }
}

}  // namespace hocket::tools
