// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <algorithm>
#include <hocket/error.hpp>
#include <hocket/topology/axis.hpp>
#include <optional>
#include <vector>

#include "axis_text.hpp"

namespace hocket {
namespace {

constexpr std::array<std::string_view, axis_count> names{"tp", "cp", "ep", "dp", "pp"};

constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::optional<axis> find_axis(std::string_view name) noexcept {
  for (auto a : all_axes)
    if (std::ranges::equal(name, name_of(a), {}, lower)) return a;
  return std::nullopt;
}

}  // namespace

std::string_view name_of(axis a) noexcept { return names[static_cast<std::size_t>(a)]; }

axis parse_axis(std::string_view name) {
  if (auto const found = find_axis(name)) return *found;
  throw error(errc::invalid_argument,
              fmt::format("\"{}\" is not an axis; the axes are tp, cp, ep, dp, pp", name));
}

std::vector<axis> detail::split_axes(std::string_view what, std::string_view text) {
  auto const refuse = [&](std::string_view why) {
    throw error(errc::invalid_argument, fmt::format("{} \"{}\": {}", what, text, why));
  };
  std::vector<axis> axes;
  for (std::size_t begin = 0; begin <= text.size();) {
    auto const end = std::min(text.find('-', begin), text.size());
    auto const token = text.substr(begin, end - begin);
    auto const found = find_axis(token);
    if (token.empty()) refuse(fmt::format("name {} is empty", axes.size() + 1));
    if (!found)
      refuse(fmt::format("\"{}\" is not an axis; the axes are tp, cp, ep, dp, pp", token));
    if (std::ranges::count(axes, *found) != 0)
      refuse(fmt::format("{} is named twice", name_of(*found)));
    axes.push_back(*found);
    begin = end + 1;
  }
  return axes;
}

axis_set axis_set::parse(std::string_view text) {
  axis_set set;
  for (auto a : detail::split_axes("axis set", text)) set = set.with(a);
  return set;
}

std::string axis_set::text() const {
  std::string out;
  for (auto a : all_axes) {
    if (!contains(a)) continue;
    if (!out.empty()) out += '-';
    out += name_of(a);
  }
  return out;
}

}  // namespace hocket
