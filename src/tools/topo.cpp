// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// hocket topo: where each rank of a grid stands and which ranks form its groups.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <hocket/error.hpp>
#include <hocket/topology/rank_grid.hpp>
#include <sstream>

#include "file_output.hpp"
#include "named_set.hpp"
#include "options.hpp"
#include "standard_output.hpp"
#include "topo_svg.hpp"

namespace hocket::tools {
namespace {

namespace po = boost::program_options;

po::options_description options() {
  po::options_description all("options", 100);
  auto add = all.add_options();
  auto const number = [] { return po::value<int>()->value_name("N"); };
  add("world", number(), "ranks in the grid");
  add("tp", number(), "ranks along the tensor axis (default 1)");
  add("cp", number(), "ranks along the context axis (default 1)");
  add("ep", number(), "ranks along the expert axis (default 1)");
  add("dp", number(), "ranks along the data axis (default: world / the others)");
  add("pp", number(), "ranks along the pipeline axis (default 1)");
  add("order", po::value<std::string>()->value_name("AXES"),
      "innermost axis first, as in Megatron (default tp-cp-ep-dp-pp)");
  add("outermost-first", po::value<std::string>()->value_name("AXES"),
      "the order from its other end, as in dp-ep-pp-tp-cp");
  add("offset", number(), "the grid's lowest rank (default 0)");
  add("groups", po::value<std::string>()->value_name("SETS"),
      "which groups to show, as in tp,dp-cp (default tp,cp,ep,dp,pp)");
  add("json", po::bool_switch(), "one JSON document on stdout");
  add("svg", po::value<std::string>()->value_name("FILE"),
      "draw the grid and its groups; - is standard output");
  return all;
}

std::string help() {
  std::ostringstream text;
  text
      << "hocket topo --world N [--tp N] [--cp N] [--ep N] [--dp N] [--pp N]\n"
         "            [--order AXES | --outermost-first AXES] [--offset N] [--groups SETS]\n"
         "            [--json] [--svg FILE]\n\n"
         "Lays the ranks of a world out along tensor, context, expert, data and pipeline\n"
         "parallelism, and lists the groups: the ranks that differ along the named axes only.\n\n"
      << options()
      << "\nexample: 8 ranks; tensor pairs are neighbours, pipeline stages are far apart\n"
         "  $ hocket topo --world 8 --tp 2 --pp 2 --groups tp,pp --json\n"
         "  {\"world\":8,\"order\":[\"tp\",\"cp\",\"ep\",\"dp\",\"pp\"],"
         "\"groups\":{\"tp\":[[0,1],[2,3],[4,5],[6,7]],\n"
         "  \"pp\":[[0,4],[1,5],[2,6],[3,7]]}}   (on one line)\n"
         "  $ hocket topo --world 16 --tp 2 --cp 2 --pp 2 --groups tp,cp,dp-cp,pp --svg grid.svg\n";
  return text.str();
}

order order_of(po::variables_map const& values) {
  auto const innermost = given<std::string>(values, "order");
  auto const outermost = given<std::string>(values, "outermost-first");
  if (innermost && outermost)
    throw error(errc::invalid_argument,
                fmt::format("--order {} and --outermost-first {}: give one of them", *innermost,
                            *outermost));
  if (innermost) return order::innermost_first(*innermost);
  return outermost ? order::outermost_first(*outermost) : order();
}

rank_grid grid_of(po::variables_map const& values) {
  axis_sizes sizes;
  for (auto a : all_axes) {
    std::string const name(name_of(a));
    auto const size = given<int>(values, name);
    if (!size) continue;
    if (*size < 1)  // also keeps the value of `derive` out
      throw error(errc::invalid_argument, fmt::format("--{} {} is below 1", name, *size));
    sizes[a] = *size;
  }
  return {required<int>(values, "world"), sizes, order_of(values),
          given<int>(values, "offset").value_or(0)};
}

std::vector<named_set> sets_of(po::variables_map const& values) {
  std::vector<named_set> sets;
  for (auto& key : split_list(given<std::string>(values, "groups").value_or("tp,cp,ep,dp,pp"))) {
    auto const axes = axis_set::parse(key);
    if (auto const same = std::ranges::find(sets, axes, &named_set::axes); same != sets.end())
      throw error(errc::invalid_argument,
                  fmt::format("--groups names the same groups twice: {} and {}", same->key, key));
    sets.push_back({std::move(key), axes});
  }
  return sets;
}

// The first members of all groups along the axes. Group by group, so that memory does not grow with
// the world; the groups are those of `rank_grid::groups`, in its order.
rank_group first_members(rank_grid const& grid, axis_set axes) {
  axis_set others;
  for (auto a : all_axes)
    if (!axes.contains(a)) others = others.with(a);
  return grid.group_of(world_rank(grid.offset()), others);
}

void print_json(rank_grid const& grid, std::vector<named_set> const& sets) {
  boost::json::array axes;
  for (auto a : grid.order().axes()) axes.emplace_back(name_of(a));
  put(fmt::format("{{\"world\":{},\"order\":{},\"groups\":{{", grid.size(),
                  boost::json::serialize(axes)));
  for (auto const& set : sets) {
    put(fmt::format("{}\"{}\":", &set == sets.data() ? "" : ",", set.key));
    char const* before = "[";
    for (auto const first : first_members(grid, set.axes)) {
      put(before);
      before = ",";
      char const* comma = "[";
      for (auto const rank : grid.group_of(first, set.axes)) {
        put(comma);
        put(fmt::format_int(rank.value()).c_str());
        comma = ",";
      }
      put("]");
    }
    put("]");
  }
  put("}}\n");
}

void print_ranks(rank_grid const& grid) {
  constexpr int ranks_max = 64;
  put(fmt::format("{} rank{}, {} to {}; order, innermost first:\n\n", grid.size(),
                  grid.size() == 1 ? "" : "s", grid.offset(), grid.offset() + grid.size() - 1));
  put(fmt::format("  axis {:>8} {:>8}\n", "size", "stride"));
  for (auto a : grid.order().axes())
    put(fmt::format("  {:<4} {:>8} {:>8}\n", name_of(a), grid.size_of(a), grid.stride_of(a)));
  put("\n  rank ");
  for (auto a : grid.order().axes()) put(fmt::format("{:>5}", name_of(a)));
  for (int i = 0; i < std::min(grid.size(), ranks_max); ++i) {
    world_rank const rank(grid.offset() + i);
    auto const place = grid.at(rank);
    put(fmt::format("\n  {:<5}", rank.value()));
    for (auto a : grid.order().axes()) put(fmt::format("{:>5}", place[a]));
  }
  if (grid.size() > ranks_max) put(fmt::format("\n  … {} more", grid.size() - ranks_max));
  put("\n");
}

void print_table(rank_grid const& grid, std::vector<named_set> const& sets) {
  constexpr int groups_max = 16;
  print_ranks(grid);
  for (auto const& set : sets) {
    if (grid.size_of(set.axes) == 1) {
      put(fmt::format("\n{}: each rank is a group of its own\n", set.key));
      continue;
    }
    auto const firsts = first_members(grid, set.axes);
    put(fmt::format("\n{}: {} group{} of {}\n", set.key, firsts.size(),
                    firsts.size() == 1 ? "" : "s", grid.size_of(set.axes)));
    for (int i = 0; i < std::min(firsts.size(), groups_max); ++i)
      put(fmt::format("  {}\n", to_string(grid.group_of(firsts[group_rank(i)], set.axes))));
    if (firsts.size() > groups_max)
      put(fmt::format("  … {} more; --json lists all\n", firsts.size() - groups_max));
  }
}

int run(arguments const& args) {
  auto const values = parse(options(), args);
  auto const grid = grid_of(values);
  auto const sets = sets_of(values);
  bool const json = values["json"].as<bool>();
  auto const svg = output_of("--svg", given<std::string>(values, "svg"));
  check_outputs(json, svg);
  if (svg) svg->write(draw_topology(grid, sets));
  if (json)
    print_json(grid, sets);
  else if (svg)
    svg->confirm();
  else
    print_table(grid, sets);
  return 0;
}

}  // namespace

constinit command const topo_command{
    "topo", "where each rank stands in a grid and which ranks form its groups", help, run};

}  // namespace hocket::tools
