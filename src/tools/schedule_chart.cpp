// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "schedule_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hocket::tools {
namespace {

constexpr double width_max = 200;

// Stages are named where a rank has several.
std::string cell_text(schedule const& plan, action const& a) {
  auto const text = to_string(a);
  return plan.stages() == plan.ranks() ? text.substr(text.find(a.name())) : text;
}

bool is_whole(prediction const& run) {
  auto const whole = [](time_span const& s) {
    return s.begin == std::floor(s.begin) && s.end == std::floor(s.end);
  };
  return std::ranges::all_of(run.timeline,
                             [&](auto const& spans) { return std::ranges::all_of(spans, whole); });
}

std::size_t cell_width(schedule const& plan) {
  std::size_t width = 0;
  for (int r = 0; r < plan.ranks(); ++r)
    for (auto const& a : plan.actions(r))
      if (a.is_compute()) width = std::max(width, cell_text(plan, a).size());
  return width + 1;
}

std::string line_text(schedule const& plan, prediction const& run, int rank, std::size_t width) {
  std::string line;
  auto const column = [&](double time) { return static_cast<std::size_t>(time) * width; };
  auto const fill = [&](double until, char with) {
    while (line.size() < column(until)) line += line.size() % width == 0 ? with : ' ';
  };
  auto const& spans = run.timeline[static_cast<std::size_t>(rank)];
  for (std::size_t i = 0; auto const& a : plan.actions(rank)) {
    auto const& span = spans[i++];
    if (!a.is_compute() || span.end <= span.begin) continue;
    fill(span.begin, '.');
    line += cell_text(plan, a);
    while (line.size() + 1 < column(span.end)) line += line.size() % width == width - 1 ? ' ' : '-';
    fill(span.end, ' ');
  }
  fill(run.makespan, '.');
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

}  // namespace

std::string rank_text(schedule const& plan, int rank) {
  auto const stages = plan.stages_of(rank);
  return fmt::format("rank {}: stage{} {}", rank, stages.size() == 1 ? "" : "s",
                     fmt::join(stages, ", "));
}

std::string short_number(double value, int digits) {
  auto text = fmt::format("{:.{}f}", value, digits);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string chart_text(schedule const& plan, prediction const& run) {
  auto const width = cell_width(plan);
  if (!is_whole(run) || run.makespan * static_cast<double>(width) > width_max) return {};
  std::string text;
  for (int r = 0; r < plan.ranks(); ++r)
    text += fmt::format("  {:>4}  {}\n", r, line_text(plan, run, r, width));
  return text;
}

}  // namespace hocket::tools
