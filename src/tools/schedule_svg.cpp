// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "schedule_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <hocket/error.hpp>
#include <string_view>

#include "schedule_chart.hpp"
#include "svg_picture.hpp"

namespace hocket::tools {
namespace {

constexpr int ranks_max = 256;
constexpr std::int64_t boxes_max = 50'000;
constexpr double margin = 24;
constexpr double chart_width = 1180;  // wanted; short schedules take less, long ones more
constexpr double box_max = 40;        // of a short action
constexpr double box_min = 16;        // two digits fit
constexpr double chart_width_max = 8000;
constexpr double row = 38;
constexpr double row_gap = 8;
constexpr double side = 190;  // what stands behind the rows
constexpr double digit = 7.6;
constexpr double letter = 10.5;

constexpr std::string_view style_sheet =
    "text{fill:#1d2733}.title{font-size:20px;font-weight:bold}"
    ".note{font-size:13px;fill:#4a5765}.rank{font-size:14px;font-weight:bold}"
    ".sub{font-size:11px;fill:#4a5765}"
    ".mb{font-size:12.5px;font-weight:bold;text-anchor:middle}"
    ".inv{font-size:12.5px;font-weight:bold;text-anchor:middle;fill:#ffffff}"
    ".tick{font-size:11px;fill:#4a5765;text-anchor:middle}"
    ".key{font-size:13px}";

// Shades of one kind, the rank's first stage lightest. Black text is readable on the first two,
// white on the others.
struct palette {
  action_kind kind;
  std::string_view words;
  std::array<std::string_view, 4> fills;
};

constexpr std::array<palette, 5> palettes{{
    {action_kind::forward, "F forward", {"#a9cdf5", "#5f9fe8", "#2c6cc0", "#174a8c"}},
    {action_kind::backward,
     "B backward (I and W at once)",
     {"#b7e2ab", "#74c063", "#3b8a2f", "#22601a"}},
    {action_kind::backward_input,
     "I gradient of the input",
     {"#a6e3d8", "#4fbfae", "#1e8576", "#0e5b50"}},
    {action_kind::backward_weight,
     "W gradient of the weights",
     {"#fbd79a", "#f0aa3c", "#b9740c", "#7f4e04"}},
    {action_kind::user, "user-defined", {"#d9c3ee", "#b18ad9", "#7d50ad", "#552f80"}},
}};

palette const& palette_of(action_kind kind) {
  auto const* const found = std::ranges::find(palettes, kind, &palette::kind);
  return found == palettes.end() ? palettes.back() : *found;
}

std::string time_text(double time) { return fmt::format("{:.6g}", time); }

// Pixels for one unit of time. Short actions, but not the few that are very short, are as wide as
// their number needs.
double unit_of(prediction const& run) {
  if (run.makespan <= 0) return box_max;
  double shortest = run.makespan;
  double sum = 0;
  double boxes = 0;
  for (auto const& spans : run.timeline)
    for (auto const& s : spans) {
      double const length = s.end - s.begin;
      if (length <= 0) continue;
      shortest = std::min(shortest, length);
      sum += length;
      ++boxes;
    }
  double const grain = boxes > 0 ? std::max(shortest, sum / boxes / 4) : run.makespan;
  double const wanted = std::clamp(chart_width / run.makespan, box_min / grain, box_max / grain);
  return std::min(wanted, chart_width_max / run.makespan);
}

class chart {
 public:
  chart(schedule const& plan, prediction const& run) : plan_(plan), run_(run), unit_(unit_of(run)) {
    std::vector<std::ptrdiff_t> held(static_cast<std::size_t>(plan.ranks()));
    for (int const rank : plan.placement())
      chunk_of_.push_back(held[static_cast<std::size_t>(rank)]++);
    chunks_ = std::ranges::max(held);
    std::size_t longest = 0;
    for (int r = 0; r < plan.ranks(); ++r) longest = std::max(longest, row_name(r).size());
    left_ = margin + std::max(86.0, static_cast<double>(longest) * 7.2 + 20);
  }

  std::string draw() {
    out_.define(
        "<pattern id=\"idle\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect width=\"7\" height=\"7\" fill=\"#fafbfc\"/>"
        "<line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"7\" stroke=\"#b4bfcb\" stroke-width=\"2\"/>"
        "</pattern>");
    double const top = draw_heading();
    for (int r = 0; r < plan_.ranks(); ++r) draw_row(r, top + r * (row + row_gap));
    double const axis = top + plan_.ranks() * (row + row_gap);
    draw_axis(axis);
    double const bottom = draw_legend(axis + 58);
    double const right = std::max(left_ + width() + side, 900.0);
    return out_.finish({right + margin, bottom + margin}, style_sheet);
  }

 private:
  [[nodiscard]] double width() const { return unit_ * run_.makespan; }
  [[nodiscard]] std::string row_name(int rank) const {
    if (chunks_ == 1 && plan_.stages_of(rank) == std::vector{rank})
      return fmt::format("stage {}", rank);
    return fmt::format("rank {}", rank);
  }
  [[nodiscard]] std::ptrdiff_t shade_of(action const& a) const {
    return std::min<std::ptrdiff_t>(chunk_of_[static_cast<std::size_t>(a.stage())], 3);
  }

  double draw_heading();
  void draw_row(int rank, double y);
  void draw_action(action const& a, int rank, time_span const& span, double y);
  void draw_axis(double y);
  double draw_legend(double y);
  double draw_shades(double y);

  schedule const& plan_;
  prediction const& run_;
  double unit_;
  double left_ = 0;
  std::vector<std::ptrdiff_t> chunk_of_;  // by stage: which of its rank's it is
  std::ptrdiff_t chunks_ = 0;             // most stages on a rank
  svg_picture out_;
};

std::string counted(int count, char const* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

double chart::draw_heading() {
  auto const stages = plan_.stages() == plan_.ranks()
                          ? counted(plan_.stages(), "stage")
                          : fmt::format("{} on {}", counted(plan_.stages(), "stage"),
                                        counted(plan_.ranks(), "rank"));
  double y = margin + 18;
  out_.text({margin, y}, "title",
            fmt::format("{}: {}, {}", plan_.name(), stages,
                        plan_.microbatches() == 1
                            ? "1 microbatch"
                            : fmt::format("{} microbatches", plan_.microbatches())));
  out_.text({margin, y += 24}, "note",
            fmt::format("makespan {}; bubble {} %: of the ranks' {} x {}, {} are spent waiting",
                        time_text(run_.makespan), short_number(run_.bubble * 100), plan_.ranks(),
                        time_text(run_.makespan),
                        time_text(run_.bubble * run_.makespan * plan_.ranks())));
  out_.text({margin, y += 19}, "note",
            "Each row is what one rank does, time runs to the right, the number in a box is the "
            "microbatch; hatched: the rank waits.");
  return y + 24;
}

void chart::draw_row(int rank, double y) {
  auto const r = static_cast<std::size_t>(rank);
  auto const stages = plan_.stages_of(rank);
  auto const name = row_name(rank);
  bool const is_stage = name.starts_with("stage");
  out_.text({margin, y + (is_stage ? 24 : 17)}, "rank", name);
  if (!is_stage)
    out_.text({margin, y + 32}, "sub",
              stages.size() > 4 ? counted(static_cast<int>(stages.size()), "stage")
                                : fmt::format("stage{} {}", stages.size() == 1 ? "" : "s",
                                              fmt::join(stages, ", ")));
  out_.box({left_, y}, {width(), row}, "url(#idle)", "#c3ccd6", 2);
  for (std::size_t i = 0; auto const& a : plan_.actions(rank))
    draw_action(a, rank, run_.timeline[r][i++], y);
  int kept = 0;
  for (int const s : stages) kept += run_.peak_activations[static_cast<std::size_t>(s)];
  double const x = left_ + width() + 14;
  double const share = run_.makespan > 0 ? run_.busy[r] / run_.makespan * 100 : 100;
  out_.text({x, y + 17}, "sub", fmt::format("{} % busy", short_number(share, 1)));
  out_.text({x, y + 32}, "sub",
            stages.size() == 1
                ? fmt::format("keeps up to {} activation{}", kept, kept == 1 ? "" : "s")
                : fmt::format("its stages keep {} at most", kept));
}

void chart::draw_action(action const& a, int rank, time_span const& span, double y) {
  if (span.end <= span.begin) return;
  auto const shade = shade_of(a);
  auto const fill = palette_of(a.kind()).fills[static_cast<std::size_t>(shade)];
  point const at{left_ + span.begin * unit_, y};
  double const wide = (span.end - span.begin) * unit_;
  out_.hint(fmt::format(
      "{}: rank {}, stage {}{}, time {} to {}", to_string(a), rank, a.stage(),
      a.microbatch() == action::no_microbatch ? "" : fmt::format(", microbatch {}", a.microbatch()),
      time_text(span.begin), time_text(span.end)));
  out_.box(at, {wide, row}, fill, "#33414f", 2);
  bool const is_numbered = a.microbatch() != action::no_microbatch;
  auto const words = is_numbered ? fmt::format("{}", a.microbatch()) : std::string(a.name());
  if (static_cast<double>(words.size()) * (is_numbered ? digit : letter) <= wide)
    out_.text({at.x + wide / 2, y + row / 2 + 4.5}, shade < 2 ? "mb" : "inv", words);
  out_.end_hint();
}

// Ticks at a round distance that leaves room for their numbers.
void chart::draw_axis(double y) {
  constexpr double distance = 34;
  double step = std::pow(10, std::floor(std::log10(distance / unit_)));
  for (int i = 0; step * unit_ < distance; ++i) step *= i % 3 == 1 ? 2.5 : 2;
  out_.line({left_, y}, {left_ + width(), y}, "#7b8794");
  for (int i = 0; i * step <= run_.makespan * (1 + 1e-9); ++i) {
    double const t = i * step;
    double const x = left_ + t * unit_;
    out_.line({x, y}, {x, y + 5}, "#7b8794");
    out_.text({x, y + 19}, "tick", time_text(t));
  }
  out_.text({left_ + width() / 2, y + 36}, "tick", "time");
}

double chart::draw_legend(double y) {
  double x = left_;
  auto const entry = [&](std::string_view fill, std::string_view words) {
    double const wide = 30 + static_cast<double>(words.size()) * 7.4 + 18;
    if (x > left_ && x + wide > left_ + std::max(width() + side, 700.0)) {
      x = left_;
      y += 28;
    }
    out_.box({x, y}, {22, 18}, fill, "#33414f", 2);
    out_.text({x + 30, y + 14}, "key", words);
    x += wide;
  };
  for (auto const& p : palettes) {
    bool is_there = false;
    for (int r = 0; r < plan_.ranks(); ++r)
      is_there |=
          std::ranges::find(plan_.actions(r), p.kind, &action::kind) != plan_.actions(r).end();
    if (is_there) entry(p.fills[0], p.words);
  }
  entry("url(#idle)", "waiting (bubble)");
  return chunks_ == 1 ? y + 22 : draw_shades(y + 34);
}

double chart::draw_shades(double y) {
  constexpr std::array<std::string_view, 4> words{"first", "second", "third", "fourth"};
  out_.text({margin, y + 14}, "note", "shades:");
  double x = left_;
  for (std::size_t i = 0; i < std::min<std::size_t>(4, static_cast<std::size_t>(chunks_)); ++i) {
    out_.box({x, y}, {22, 18}, palettes[0].fills[i], "#33414f", 2);
    bool const is_more = i == 3 && chunks_ > 4;
    auto const text = fmt::format("the rank's {} stage{}", words[i], is_more ? " and later" : "");
    out_.text({x + 30, y + 14}, "key", text);
    x += 48 + static_cast<double>(text.size()) * 7.4;
  }
  return y + 22;
}

}  // namespace

std::string draw_schedule(schedule const& plan, prediction const& run) {
  if (plan.ranks() > ranks_max || plan.size() > boxes_max)
    throw error(errc::invalid_argument,
                fmt::format("a picture of {} ranks and {} actions: at most {} and {} are drawn",
                            plan.ranks(), plan.size(), ranks_max, boxes_max));
  return chart(plan, run).draw();
}

}  // namespace hocket::tools
