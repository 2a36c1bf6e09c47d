// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <hocket/error.hpp>
#include <hocket/parallel/find_split.hpp>
#include <numeric>

namespace hocket {
namespace {

[[noreturn]] void refuse(std::string story) {
  throw error(errc::invalid_argument, "find_split: " + std::move(story));
}

void check_positive(shape5 const& s, std::int64_t cp_size, patch3 const& p, std::int64_t views) {
  struct named {
    char const* name;
    std::int64_t value;
  };
  for (auto [name, value] : {named{"b", s.b},
                             {"c", s.c},
                             {"t", s.t},
                             {"h", s.h},
                             {"w", s.w},
                             {"cp_size", cp_size},
                             {"patch t", p.t},
                             {"patch h", p.h},
                             {"patch w", p.w},
                             {"view_factor", views}})
    if (value < 1)
      refuse(
          fmt::format("{} {} is below 1 (shape {},{},{},{},{}, cp_size {}, patch {},{},{}, "
                      "view_factor {})",
                      name, value, s.b, s.c, s.t, s.h, s.w, cp_size, p.t, p.h, p.w, views));
}

// Ranks that the patches of one axis can occupy, out of those that are left.
std::int64_t ranks_along(char const* name, std::int64_t extent, std::int64_t patch,
                         std::int64_t ranks) {
  auto const taken = std::gcd(extent / patch, ranks);
  if (extent % taken != 0)
    refuse(fmt::format("{} {} in patches of {} goes to {} ranks, but {} % {} = {}", name, extent,
                       patch, taken, extent, taken, extent % taken));
  return taken;
}

}  // namespace

shape5 shape5::from(std::span<std::int64_t const> extents) {
  if (extents.size() != 5)
    refuse(fmt::format("a shape is 5 extents (b,c,t,h,w), not {}: {}", extents.size(),
                       fmt::join(extents, ",")));
  return {extents[0], extents[1], extents[2], extents[3], extents[4]};
}

patch3 patch3::from(std::span<std::int64_t const> extents) {
  if (extents.size() != 3)
    refuse(fmt::format("a patch is 3 extents (t,h,w), not {}: {}", extents.size(),
                       fmt::join(extents, ",")));
  return {extents[0], extents[1], extents[2]};
}

split_shape find_split(shape5 const& shape, std::int64_t cp_size, patch3 const& patch,
                       std::int64_t view_factor) {
  check_positive(shape, cp_size, patch, view_factor);
  if (shape.t % view_factor != 0)
    refuse(fmt::format("{} frames are not {} equal views: {} % {} = {}", shape.t, view_factor,
                       shape.t, view_factor, shape.t % view_factor));
  auto const frames = shape.t / view_factor;
  auto const cp_t = ranks_along("t", frames, patch.t, cp_size);
  auto const cp_h = ranks_along("h", shape.h, patch.h, cp_size / cp_t);
  if (auto const left = cp_size / cp_t / cp_h; left != 1)
    refuse(fmt::format(
        "cp_size {} = t {} * h {} * {} left over, and the width {} is never split: "
        "lower cp_size (frames {}, height {}, patch {},{},{})",
        cp_size, cp_t, cp_h, left, shape.w, frames, shape.h, patch.t, patch.h, patch.w));
  return {frames / cp_t, shape.h / cp_h, shape.w, cp_t, cp_h};
}

}  // namespace hocket
