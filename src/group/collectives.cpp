// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <algorithm>

#include "launch.hpp"
#include "parts.hpp"

namespace hocket {

using detail::as_slice;
using detail::calling;
using detail::check_aliasing;
using detail::check_supported;
using detail::check_tensor;
using detail::equal_parts;
using detail::expect_parts;
using detail::launch;
using detail::match_part;
using detail::set_print;

work<> process_group::broadcast(tensor t, member root, op_options const& options,
                                std::source_location site) const {
  if (is_disabled()) return make_ready_work();
  calling const c(*group_, *channel_, options, site);
  return work<>(launch<detail::signal_op>(c, op_kind::broadcast, [&](request& r) {
    check_tensor(t, "the tensor");
    check_supported(c, op_kind::broadcast, t.dtype());
    r.print.root = place_of(root).value();
    set_print(r, t.dtype(), t.shape());
    (r.rank == r.print.root ? r.in : r.out) = std::move(t);
  }));
}

work<std::optional<tensor>> process_group::broadcast(std::optional<tensor> t, member root,
                                                     op_options const& options,
                                                     std::source_location site) const {
  if (is_disabled()) return make_ready_work<std::optional<tensor>>(nullptr, std::move(t));
  calling const c(*group_, *channel_, options, site);
  return work<std::optional<tensor>>(
      launch<detail::optional_tensor_op>(c, op_kind::broadcast, [&](request& r) {
        r.print.root = place_of(root).value();
        r.takes_any_shape = true;
        if (r.rank != r.print.root || !t) return;
        check_tensor(*t, "the tensor");
        set_print(r, t->dtype(), t->shape());
        r.in = *std::move(t);
      }));
}

work<> process_group::all_gather(tensor out, tensor in, op_options const& options,
                                 std::source_location site) const {
  if (is_disabled()) return detail::copy_when_disabled("all_gather", out, in, site);
  calling const c(*group_, *channel_, options, site);
  return work<>(launch<detail::signal_op>(c, op_kind::all_gather, [&](request& r) {
    check_tensor(in, "the input");
    check_tensor(out, "the output");
    check_supported(c, op_kind::all_gather, in.dtype());
    in = as_slice(in, out.ndim());
    r.plan = equal_parts(in, size());
    match_part(r, in, &out, r.rank);
    check_aliasing(in, out, &*r.plan, r.rank);
    r.in = std::move(in);
    r.out = std::move(out);
  }));
}

work<> process_group::all_gather_v(tensor out, tensor in, split_plan const& plan,
                                   op_options const& options, std::source_location site) const {
  if (is_disabled()) return detail::copy_when_disabled("all_gather_v", out, in, site);
  calling const c(*group_, *channel_, options, site);
  return work<>(launch<detail::signal_op>(c, op_kind::all_gather, [&](request& r) {
    check_tensor(in, "the input");
    check_tensor(out, "the output");
    check_supported(c, op_kind::all_gather, in.dtype());
    expect_parts(plan, size());
    r.plan = plan;
    match_part(r, in, &out, r.rank);
    check_aliasing(in, out, &plan, r.rank);
    r.in = std::move(in);
    r.out = std::move(out);
  }));
}

namespace detail {
namespace {

// How this rank's part fits the root's whole, which the other ranks (null) do not see: by the plan,
// or as one of n equal parts. Without a plan members compare the count alone, since [n*k, ...] has
// the same elements as [n, k, ...].
void fit_part(request& r, tensor& part, tensor const* whole, split_plan const* plan, int n) {
  if (plan != nullptr) {
    expect_parts(*plan, n);
    r.plan = *plan;
    return match_part(r, part, whole, r.rank);
  }
  part = as_slice(part, part.ndim());
  if (whole != nullptr && whole->ndim() == part.ndim() + 1) part = as_slice(part, whole->ndim());
  r.plan = equal_parts(part, n);
  match_part(r, part, whole, r.rank);
  r.print.shape_hash = 0;
  r.print.plan_hash = 0;
}

work<> gather(calling const& c, tensor out, tensor in, split_plan const* plan, member root,
              process_group const& g) {
  return work<>(launch<signal_op>(c, op_kind::gather, [&](request& r) {
    r.print.root = g.place_of(root).value();
    bool const here = r.rank == r.print.root;
    check_tensor(in, "the input");
    if (here) check_tensor(out, "the output");
    check_supported(c, op_kind::gather, in.dtype());
    fit_part(r, in, here ? &out : nullptr, plan, g.size());
    if (here) check_aliasing(in, out, &*r.plan, r.rank);
    r.in = std::move(in);
    if (here) r.out = std::move(out);
  }));
}

work<> scatter(calling const& c, tensor out, tensor in, split_plan const* plan, member root,
               process_group const& g) {
  return work<>(launch<signal_op>(c, op_kind::scatter, [&](request& r) {
    r.print.root = g.place_of(root).value();
    bool const here = r.rank == r.print.root;
    check_tensor(out, "the output");
    if (here) check_tensor(in, "the input");
    check_supported(c, op_kind::scatter, out.dtype());
    fit_part(r, out, here ? &in : nullptr, plan, g.size());
    if (here) check_aliasing(out, in, &*r.plan, r.rank);
    r.out = std::move(out);
    if (here) r.in = std::move(in);
  }));
}

}  // namespace
}  // namespace detail

work<> process_group::gather(tensor out, tensor in, member root, op_options const& options,
                             std::source_location site) const {
  if (is_disabled()) return detail::copy_when_disabled("gather", out, in, site);
  calling const c(*group_, *channel_, options, site);
  return detail::gather(c, std::move(out), std::move(in), nullptr, root, *this);
}

work<> process_group::gather_v(tensor out, tensor in, split_plan const& plan, member root,
                               op_options const& options, std::source_location site) const {
  if (is_disabled()) return detail::copy_when_disabled("gather_v", out, in, site);
  calling const c(*group_, *channel_, options, site);
  return detail::gather(c, std::move(out), std::move(in), &plan, root, *this);
}

work<> process_group::scatter(tensor out, tensor in, member root, op_options const& options,
                              std::source_location site) const {
  if (is_disabled()) return detail::copy_when_disabled("scatter", out, in, site);
  calling const c(*group_, *channel_, options, site);
  return detail::scatter(c, std::move(out), std::move(in), nullptr, root, *this);
}

work<> process_group::scatter_v(tensor out, tensor in, split_plan const& plan, member root,
                                op_options const& options, std::source_location site) const {
  if (is_disabled()) return detail::copy_when_disabled("scatter_v", out, in, site);
  calling const c(*group_, *channel_, options, site);
  return detail::scatter(c, std::move(out), std::move(in), &plan, root, *this);
}

work<std::optional<tensor>> process_group::scatter(std::optional<tensor> whole, std::int64_t dim,
                                                   layout how, member root,
                                                   op_options const& options,
                                                   std::source_location site) const {
  if (is_disabled()) return make_ready_work<std::optional<tensor>>(nullptr, std::move(whole));
  calling const c(*group_, *channel_, options, site);
  return work<std::optional<tensor>>(
      launch<detail::optional_tensor_op>(c, op_kind::scatter, [&](request& r) {
        r.print.root = place_of(root).value();
        r.takes_any_shape = true;
        // All members say how and along which dimension, though only the root has a shape.
        r.print.plan_hash =
            (static_cast<std::uint64_t>(dim) << 8) + 1 + static_cast<std::uint64_t>(how);
        if (r.rank != r.print.root || !whole) return;
        check_tensor(*whole, "the tensor");
        r.plan = make_split_plan(how, whole->shape(), size(), dim);
        r.print.dtype = whole->dtype();
        r.in = *std::move(whole);
      }));
}

work<> process_group::barrier(op_options const& options, std::source_location site) const {
  if (is_disabled()) return make_ready_work();
  calling const c(*group_, *channel_, options, site);
  return work<>(launch<detail::signal_op>(c, op_kind::barrier, [](request&) {}));
}

work<> process_group::monitored_barrier(op_options const& options,
                                        std::source_location site) const {
  if (is_disabled()) return make_ready_work();
  calling const c(*group_, *channel_, options, site);
  return work<>(launch<detail::signal_op>(c, op_kind::monitored_barrier, [](request&) {}));
}

}  // namespace hocket
