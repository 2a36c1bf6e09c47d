// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "report.hpp"

#include <fmt/format.h>

namespace hocket::conformance {

std::string place_of(std::int64_t index, extents const& e) {
  std::string text;
  for (std::size_t d = e.size(); d-- > 0;) {
    text = std::to_string(index % e[d]) + (text.empty() ? "" : "," + text);
    index /= e[d];
  }
  return e.empty() ? "" : "[" + text + "]";
}

std::string brief(array const& a) {
  std::string text;
  for (auto const x : a.extents) text += (text.empty() ? "" : ",") + std::to_string(x);
  return fmt::format("{}[{}]", name_of(a.dtype), text);
}

std::optional<array_difference> difference_of(array const& got, array const& expected) {
  if (got.dtype != expected.dtype || got.extents != expected.extents)
    return array_difference{-1, 1, brief(got), brief(expected)};
  if (got.bytes == expected.bytes) return std::nullopt;
  std::optional<array_difference> first;
  for (std::int64_t i = 0; i < got.count(); ++i) {
    if (same_element(got.dtype, got.at(i), expected.at(i))) continue;
    if (!first)
      first =
          array_difference{i, 0, spelled(got.dtype, got.at(i)), spelled(got.dtype, expected.at(i))};
    ++first->wrong;
  }
  return first;
}

namespace {

std::string heading(trial_name const& t) {
  return fmt::format(
      "operation {}\n  engine   {}\n  ranks    {}\n  group    {}\n  on rank  {}\n  seed     {}\n",
      t.operation, t.engine, t.ranks, t.group, t.rank, t.seed);
}
std::string advice(trial_name const& t) { return fmt::format("  again    HOCKET_SEED={}", t.seed); }

}  // namespace

std::string report(trial_name const& t, array const& expected, array_difference const& d) {
  if (d.index < 0) return report(t, d.expected, d.got);
  return heading(t) +
         fmt::format(
             "  element  {} {}, the first of {} wrong ones in {}\n"
             "  expected {}\n  got      {}\n",
             d.index, place_of(d.index, expected.extents), d.wrong, brief(expected), d.expected,
             d.got) +
         advice(t);
}

std::string report(trial_name const& t, std::string const& expected, std::string const& got) {
  return heading(t) + fmt::format("  expected {}\n  got      {}\n", expected, got) + advice(t);
}

}  // namespace hocket::conformance
