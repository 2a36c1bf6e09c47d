// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <hocket/error.hpp>
#include <utility>

#include "launch.hpp"
#include "parts.hpp"

namespace hocket {
namespace {

using detail::calling;

// One side of an exchange: a part for each rank, one behind the other.
void expect_cut(tensor const& t, split_plan const& plan, int n, char const* what) {
  detail::expect_parts(plan, n);
  if (plan.layout() == layout::zigzag || plan.layout() == layout::padded)
    throw error(errc::invalid_argument,
                fmt::format("{} is cut by a {} plan, but each part must lie in one piece", what,
                            name_of(plan.layout())));
  if (plan.dim() >= t.ndim() || t.shape()[plan.dim()] != plan.length())
    throw error(errc::invalid_argument,
                fmt::format("{} is {}, its plan {}", what, to_string(t.shape()), to_string(plan)));
}

shape without(shape s, std::size_t dim) {
  s.set(dim, 0);
  return s;
}

}  // namespace

work<> process_group::all_to_all(tensor out, tensor in, op_options const& options,
                                 std::source_location site) const {
  if (is_disabled()) return detail::copy_when_disabled("all_to_all", out, in, site);
  calling const c(*group_, *channel_, options, site);
  return work<>(detail::launch<detail::signal_op>(c, op_kind::all_to_all, [&](request& r) {
    detail::check_tensor(in, "the input");
    detail::check_tensor(out, "the output");
    detail::check_supported(c, op_kind::all_to_all, in.dtype());
    detail::expect_dtype(out, in.dtype(), "the output");
    detail::expect_shape(out, in.shape(), "the output");
    detail::check_in_place(in, out);
    r.plan = make_split_plan(layout::strict, in.shape(), size(), 0);
    r.received = r.plan;
    detail::set_print(r, in.dtype(), in.shape());
    r.in = std::move(in);
    r.out = std::move(out);
  }));
}

work<> process_group::all_to_all_v(tensor out, split_plan const& received, tensor in,
                                   split_plan const& sent, op_options const& options,
                                   std::source_location site) const {
  if (is_disabled()) return detail::copy_when_disabled("all_to_all_v", out, in, site);
  calling const c(*group_, *channel_, options, site);
  return work<>(detail::launch<detail::signal_op>(c, op_kind::all_to_all, [&](request& r) {
    detail::check_tensor(in, "the input");
    detail::check_tensor(out, "the output");
    detail::check_supported(c, op_kind::all_to_all, in.dtype());
    expect_cut(in, sent, size(), "the input");
    expect_cut(out, received, size(), "the output");
    auto const rows = without(in.shape(), sent.dim());
    detail::expect_dtype(out, in.dtype(), "the output");
    if (sent.dim() != received.dim() || without(out.shape(), received.dim()) != rows)
      throw error(errc::invalid_argument,
                  fmt::format("the output is {} by {}, the input {} by {}: they may differ only in "
                              "the length of one dimension",
                              brief(out), to_string(received), brief(in), to_string(sent)));
    detail::check_aliasing(in, out, nullptr, r.rank);
    detail::set_print(r, in.dtype(), rows);  // the lengths differ from rank to rank
    r.plan = sent;
    r.received = received;
    r.in = std::move(in);
    r.out = std::move(out);
  }));
}

}  // namespace hocket
