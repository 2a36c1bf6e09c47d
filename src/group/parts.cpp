// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "parts.hpp"

#include <fmt/format.h>

#include <hocket/error.hpp>

#include "launch.hpp"

namespace hocket::detail {

void expect_shape(tensor const& t, shape const& right, char const* what) {
  if (t.shape() == right) return;
  throw error(errc::invalid_argument, fmt::format("{} is {}, but must be {}", what,
                                                  to_string(t.shape()), to_string(right)));
}

void expect_dtype(tensor const& t, dtype right, char const* what) {
  if (t.dtype() == right) return;
  throw error(errc::invalid_argument,
              fmt::format("{} is {}, but must be {}", what, name_of(t.dtype()), name_of(right)));
}

void expect_parts(split_plan const& plan, int n) {
  if (plan.parts() == n) return;
  throw error(errc::invalid_argument, fmt::format("the plan ({}) has {} parts, the group {} ranks",
                                                  to_string(plan), plan.parts(), n));
}

// A part as a slice of the whole: [k, ...] of [n*k, ...], or [...] of [n, ...].
tensor as_slice(tensor const& part, std::size_t whole_ndim) {
  if (part.ndim() == whole_ndim && whole_ndim > 0) return part;
  shape s;
  s.append(1);
  for (auto const extent : part.shape()) s.append(extent);
  return part.reshape(s);
}

split_plan equal_parts(tensor const& part, int n) {
  return make_split_plan(layout::strict, part.size(0) * n, n, 0);
}

// How this rank's part, of shape `part`, goes together with the whole where it has one.
void match_part(request& r, tensor const& part, tensor const* whole, int rank) {
  auto const full = r.plan->full_shape(part.shape());
  expect_shape(part, r.plan->shard_shape(full, rank), "this rank's part");
  if (whole != nullptr) {
    expect_dtype(*whole, part.dtype(), "the whole");
    expect_shape(*whole, full, "the whole");
  }
  set_print(r, part.dtype(), full);
}

}  // namespace hocket::detail
