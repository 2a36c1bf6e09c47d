// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <utility>

#include "launch.hpp"
#include "parts.hpp"

namespace hocket {
namespace detail {
namespace {

// The input is whole on every rank; the result goes to `out` where there is one.
void fill_reduction(calling const& c, request& r, op_kind kind, tensor out, tensor in,
                    reduction how, bool has_result) {
  r.print.reduction = how;
  check_tensor(in, "the input");
  check_supported(c, kind, in.dtype(), how);
  set_print(r, in.dtype(), in.shape());
  if (has_result) {
    check_tensor(out, "the output");
    expect_dtype(out, in.dtype(), "the output");
    expect_shape(out, in.shape(), "the output");
    check_in_place(in, out);
    r.out = std::move(out);
  }
  r.in = std::move(in);
}

work<> reduce_scatter(calling const& c, tensor out, tensor in, split_plan const* plan,
                      reduction how, int n) {
  return work<>(launch<signal_op>(c, op_kind::reduce_scatter, [&](request& r) {
    r.print.reduction = how;
    check_tensor(in, "the input");
    check_tensor(out, "the output");
    check_supported(c, op_kind::reduce_scatter, in.dtype(), how);
    if (plan != nullptr) {
      expect_parts(*plan, n);
      r.plan = *plan;
    } else {
      out = as_slice(out, in.ndim());
      r.plan = equal_parts(out, n);
    }
    match_part(r, out, &in, r.rank);
    check_aliasing(out, in, &*r.plan, r.rank);
    r.in = std::move(in);
    r.out = std::move(out);
  }));
}

}  // namespace
}  // namespace detail

using detail::calling;

work<> process_group::all_reduce(tensor t, reduction how, op_options const& options,
                                 std::source_location site) const {
  return all_reduce(t, t, how, options, site);
}

work<> process_group::all_reduce(tensor out, tensor in, reduction how, op_options const& options,
                                 std::source_location site) const {
  if (is_disabled()) return detail::copy_when_disabled(out, in, site);
  calling const c(*group_, *channel_, options, site);
  return work<>(detail::launch<detail::signal_op>(c, op_kind::all_reduce, [&](request& r) {
    detail::fill_reduction(c, r, op_kind::all_reduce, std::move(out), std::move(in), how, true);
  }));
}

work<> process_group::reduce(tensor out, tensor in, reduction how, member root,
                             op_options const& options, std::source_location site) const {
  if (is_disabled()) return detail::copy_when_disabled(out, in, site);
  calling const c(*group_, *channel_, options, site);
  return work<>(detail::launch<detail::signal_op>(c, op_kind::reduce, [&](request& r) {
    r.print.root = place_of(root).value();
    detail::fill_reduction(c, r, op_kind::reduce, std::move(out), std::move(in), how,
                           r.rank == r.print.root);
  }));
}

work<> process_group::reduce_scatter(tensor out, tensor in, reduction how,
                                     op_options const& options, std::source_location site) const {
  if (is_disabled()) return detail::copy_when_disabled(out, in, site);
  calling const c(*group_, *channel_, options, site);
  return detail::reduce_scatter(c, std::move(out), std::move(in), nullptr, how, size());
}

work<> process_group::reduce_scatter_v(tensor out, tensor in, split_plan const& plan, reduction how,
                                       op_options const& options, std::source_location site) const {
  if (is_disabled()) return detail::copy_when_disabled(out, in, site);
  calling const c(*group_, *channel_, options, site);
  return detail::reduce_scatter(c, std::move(out), std::move(in), &plan, how, size());
}

}  // namespace hocket
