// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <hocket/tensor/copy.hpp>
#include <utility>

#include "launch.hpp"
#include "parts.hpp"
#include "tensor/scale.hpp"

namespace hocket {
namespace detail {
namespace {

void set_reduction(request& r, reduce_by by) {
  r.print.reduction = by.how();
  r.factor = by.factor();
}

// The input is whole on every rank; the result goes to `out` where there is one.
void fill_reduction(calling const& c, request& r, op_kind kind, tensor out, tensor in, reduce_by by,
                    bool has_result) {
  set_reduction(r, by);
  check_tensor(in, "the input");
  check_supported(c, kind, in.dtype(), by.how());
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

work<> reduce_scatter(calling const& c, tensor out, tensor in, split_plan const* plan, reduce_by by,
                      int n) {
  return work<>(launch<signal_op>(c, op_kind::reduce_scatter, [&](request& r) {
    set_reduction(r, by);
    check_tensor(in, "the input");
    check_tensor(out, "the output");
    check_supported(c, op_kind::reduce_scatter, in.dtype(), by.how());
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

// The reduction of this rank's input alone.
work<> reduce_when_disabled(char const* operation, tensor const& out, tensor const& in,
                            reduce_by by, std::source_location site) {
  if (by.how() != reduction::premultiplied_sum || !in.defined() ||
      in.device().kind != device_kind::host)
    return copy_when_disabled(operation, out, in, site);
  if (!is_reducible(in.dtype(), by.how()))
    return failed_work<void>(
        errc::unsupported, operation,
        fmt::format("{} of {} is not supported", name_of(by.how()), name_of(in.dtype())), site);
  tensor const multiplied = scaled(in, by.factor());
  if (out.defined() && out.shares_storage(in) && out.shape() == in.shape()) {
    copy(out, multiplied);
    return make_ready_work();
  }
  return copy_when_disabled(operation, out, multiplied, site);
}

}  // namespace
}  // namespace detail

using detail::calling;

work<> process_group::all_reduce(tensor t, reduce_by how, op_options const& options,
                                 std::source_location site) const {
  return all_reduce(t, t, how, options, site);
}

work<> process_group::all_reduce(tensor out, tensor in, reduce_by how, op_options const& options,
                                 std::source_location site) const {
  if (is_disabled()) return detail::reduce_when_disabled("all_reduce", out, in, how, site);
  calling const c(*group_, *channel_, options, site);
  return work<>(detail::launch<detail::signal_op>(c, op_kind::all_reduce, [&](request& r) {
    detail::fill_reduction(c, r, op_kind::all_reduce, std::move(out), std::move(in), how, true);
  }));
}

work<> process_group::reduce(tensor out, tensor in, reduce_by how, member root,
                             op_options const& options, std::source_location site) const {
  if (is_disabled()) return detail::reduce_when_disabled("reduce", out, in, how, site);
  calling const c(*group_, *channel_, options, site);
  return work<>(detail::launch<detail::signal_op>(c, op_kind::reduce, [&](request& r) {
    r.print.root = place_of(root).value();
    detail::fill_reduction(c, r, op_kind::reduce, std::move(out), std::move(in), how,
                           r.rank == r.print.root);
  }));
}

work<> process_group::reduce_scatter(tensor out, tensor in, reduce_by how,
                                     op_options const& options, std::source_location site) const {
  if (is_disabled()) return detail::reduce_when_disabled("reduce_scatter", out, in, how, site);
  calling const c(*group_, *channel_, options, site);
  return detail::reduce_scatter(c, std::move(out), std::move(in), nullptr, how, size());
}

work<> process_group::reduce_scatter_v(tensor out, tensor in, split_plan const& plan, reduce_by how,
                                       op_options const& options, std::source_location site) const {
  if (is_disabled()) return detail::reduce_when_disabled("reduce_scatter_v", out, in, how, site);
  calling const c(*group_, *channel_, options, site);
  return detail::reduce_scatter(c, std::move(out), std::move(in), &plan, how, size());
}

}  // namespace hocket
