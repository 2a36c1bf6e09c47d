// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <hocket/error.hpp>
#include <hocket/pipeline/make_schedule.hpp>
#include <limits>

#include "pipeline/rank_orders.hpp"

namespace hocket {
namespace {

struct known_schedule {
  std::string_view name;
  int virtual_min;
  int virtual_max;
  bool is_v;         // placement: down the ranks and up again
  int actions_each;  // for one stage and microbatch, at most
  rank_order* order;
  char const* instead = "";  // what takes the number of stages that this one does not
};

constexpr int any = std::numeric_limits<int>::max();

constexpr std::array<known_schedule, 8> known{{
    {"forward", 1, any, false, 1, order_forward},
    {"gpipe", 1, 1, false, 2, order_gpipe, "; looped-bfs takes more"},
    {"1f1b", 1, 1, false, 2, order_1f1b, "; interleaved-1f1b takes more"},
    {"interleaved-1f1b", 2, any, false, 2, order_interleaved, "; 1f1b is for one"},
    {"looped-bfs", 2, any, false, 2, order_gpipe, "; gpipe is for one"},
    {"zb-h1", 1, 1, false, 3, order_zb_h1, "; zbv is for two"},
    {"zbv", 2, 2, true, 3, order_zbv, ""},
    {"dualpipev", 2, 2, true, 3, order_dualpipev, ""},
}};

constexpr auto all_names = [] {
  std::array<std::string_view, known.size()> names;
  std::ranges::transform(known, names.begin(), &known_schedule::name);
  return names;
}();

known_schedule const& find(std::string_view name) {
  auto const* const found = std::ranges::find(known, name, &known_schedule::name);
  if (found != known.end()) return *found;
  throw error(errc::invalid_argument, fmt::format("\"{}\" is not a schedule; the schedules are {}",
                                                  name, fmt::join(all_names, ", ")));
}

int stages_a_rank(known_schedule const& s, int asked) {
  if (asked == 0) return s.virtual_min;
  if (asked >= s.virtual_min && asked <= s.virtual_max) return asked;
  auto const range = s.virtual_max == any ? fmt::format("{} or more", s.virtual_min)
                                          : fmt::format("{}", s.virtual_min);
  throw error(errc::invalid_argument, fmt::format("{} stages on a rank: {} puts {} there{}", asked,
                                                  s.name, range, s.instead));
}

void check_size(known_schedule const& s, int ranks, int microbatches, int each) {
  if (ranks < 1 || microbatches < 1)
    throw error(errc::invalid_argument,
                fmt::format("{} with {} ranks and {} microbatches: it takes at least one of each",
                            s.name, ranks, microbatches));
  double const stages = static_cast<double>(ranks) * each;
  double const actions = stages * microbatches * s.actions_each;
  // What the orders go through, absent microbatches included.
  double const steps = stages * (2.0 * ranks + microbatches) * s.actions_each;
  if (stages <= schedule::count_max && microbatches <= schedule::count_max &&
      actions <= static_cast<double>(schedule::actions_max) &&
      steps <= 64.0 * static_cast<double>(schedule::actions_max))
    return;
  throw error(errc::too_large,
              fmt::format("{} with {} ranks, {} stages on each and {} microbatches has {:.0f} "
                          "actions in {:.0f} steps; at most {} stages, {} microbatches, {} actions "
                          "and {} steps",
                          s.name, ranks, each, microbatches, actions, steps, schedule::count_max,
                          schedule::count_max, schedule::actions_max, 64 * schedule::actions_max));
}

std::vector<int> placement_of(known_schedule const& s, int ranks, int each) {
  std::vector<int> rank_of_stage;
  for (int stage = 0; stage < ranks * each; ++stage) {
    bool const is_upwards = s.is_v && stage >= ranks;
    rank_of_stage.push_back(is_upwards ? 2 * ranks - 1 - stage : stage % ranks);
  }
  return rank_of_stage;
}

}  // namespace

std::span<std::string_view const> schedule_names() noexcept { return all_names; }

schedule make_schedule(std::string_view name, int ranks, int microbatches, int virtual_stages) {
  auto const& s = find(name);
  int const each = stages_a_rank(s, virtual_stages);
  check_size(s, ranks, microbatches, each);
  std::vector<std::vector<action>> lists;
  for (int r = 0; r < ranks; ++r) {
    rank_writer out(pipeline_shape{ranks, microbatches, each, s.is_v}, r);
    s.order(out);
    lists.push_back(std::move(out).actions());
  }
  return {std::string(name), placement_of(s, ranks, each), microbatches, std::move(lists)};
}

}  // namespace hocket
