// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <hocket/async/detail/then.hpp>
#include <hocket/async/promise.hpp>
#include <hocket/parallel/context_parallel.hpp>

#include "group/launch.hpp"

namespace hocket {
namespace {

using detail::calling;
using detail::launch;
using detail::tensor_op;

void expect_parts(split_plan const& plan, process_group const& group) {
  if (plan.parts() == group.size()) return;
  throw error(errc::invalid_argument,
              fmt::format("the plan ({}) has {} parts, the group {} {} rank{}", to_string(plan),
                          plan.parts(), group.label(), group.size(), group.size() == 1 ? "" : "s"));
}

split_plan equal_parts(tensor const& part, int seq_dim, int ranks) {
  auto const dim = part.shape().dim_index(seq_dim);
  std::int64_t length = 0;
  if (__builtin_mul_overflow(part.shape()[dim], std::int64_t{ranks}, &length))
    throw error(errc::invalid_argument,
                fmt::format("{} parts like {} are longer than 2^63 - 1", ranks, brief(part)));
  return make_split_plan(layout::strict, length, ranks, static_cast<std::int64_t>(dim));
}

// One all_gather into a new tensor. What is wrong with the arguments takes the call's place in the
// channel's order, so that peers are told instead of waiting.
template <class MakePlan>
boost::intrusive_ptr<tensor_op> gather(tensor x, process_group const& group,
                                       op_options const& options, std::source_location site,
                                       MakePlan make_plan) {
  calling const c(*group.core(), group.channel_state(), options, site);
  return launch<tensor_op>(c, op_kind::all_gather, [&](request& r) {
    detail::check_tensor(x, "this rank's part");
    detail::check_supported(c, op_kind::all_gather, x.dtype());
    r.plan = make_plan(x);
    expect_parts(*r.plan, group);
    auto const whole = r.plan->full_shape(x.shape());
    if (auto const right = r.plan->shard_shape(whole, r.rank); x.shape() != right)
      throw error(errc::invalid_argument,
                  fmt::format("part {} is {}, but must be {} ({})", r.rank, to_string(x.shape()),
                              to_string(right), to_string(*r.plan)));
    r.out = tensor::empty(x.dtype(), whole);
    detail::set_print(r, x.dtype(), whole);
    r.in = std::move(x);
  });
}

// The gathered tensor and this rank's place in it.
work<differentiable<tensor>> with_place(boost::intrusive_ptr<tensor_op> op) {
  auto plan = op->asked.plan;
  int const part = op->asked.rank;
  return detail::then(work<tensor>(std::move(op)), [plan = std::move(plan), part](tensor whole) {
    return differentiable<tensor>(std::move(whole), *plan, part);
  });
}

work<differentiable<tensor>> nothing_gathered(tensor x) {
  return make_ready_work(nullptr, differentiable<tensor>(std::move(x)));
}

}  // namespace

tensor differentiable<tensor>::pullback(tensor const& grad) const {
  if (grad.shape() != value.shape())
    throw error(errc::invalid_argument,
                fmt::format("a gradient of {} for a value of {}", brief(grad), brief(value)));
  return plan_ ? split(grad, *plan_, part_) : grad;
}

tensor split_inputs_cp(tensor const& x, int seq_dim, process_group const& group, layout how) {
  if (group.is_disabled()) return x;
  return split(x, make_split_plan(how, x.shape(), group.size(), seq_dim), group.rank().value());
}

tensor split_inputs_cp(tensor const& x, split_plan const& plan, process_group const& group) {
  expect_parts(plan, group);
  return group.is_disabled() ? x : split(x, plan, group.rank().value());
}

work<tensor> cat_outputs_cp(tensor x, int seq_dim, process_group const& group,
                            op_options const& options, std::source_location site) {
  if (group.is_disabled()) return make_ready_work(nullptr, std::move(x));
  return work<tensor>(gather(std::move(x), group, options, site, [&](tensor const& part) {
    return equal_parts(part, seq_dim, group.size());
  }));
}

work<tensor> cat_outputs_cp(tensor x, split_plan const& plan, process_group const& group,
                            op_options const& options, std::source_location site) {
  if (group.is_disabled()) {
    if (plan.parts() == 1) return make_ready_work(nullptr, std::move(x));
    return detail::failed_work<tensor>(errc::invalid_argument, "cat_outputs_cp",
                                       fmt::format("on a disabled group by a plan of {} parts ({})",
                                                   plan.parts(), to_string(plan)),
                                       site);
  }
  return work<tensor>(
      gather(std::move(x), group, options, site, [&](tensor const&) { return plan; }));
}

work<differentiable<tensor>> cat_outputs_cp_with_grad(tensor x, int seq_dim,
                                                      process_group const& group,
                                                      op_options const& options,
                                                      std::source_location site) {
  if (group.is_disabled()) return nothing_gathered(std::move(x));
  return with_place(gather(std::move(x), group, options, site, [&](tensor const& part) {
    return equal_parts(part, seq_dim, group.size());
  }));
}

work<differentiable<tensor>> cat_outputs_cp_with_grad(tensor x, split_plan const& plan,
                                                      process_group const& group,
                                                      op_options const& options,
                                                      std::source_location site) {
  if (group.is_disabled()) {
    if (plan.parts() == 1) return nothing_gathered(std::move(x));
    return detail::failed_work<differentiable<tensor>>(
        errc::invalid_argument, "cat_outputs_cp_with_grad",
        fmt::format("on a disabled group by a plan of {} parts ({})", plan.parts(),
                    to_string(plan)),
        site);
  }
  return with_place(
      gather(std::move(x), group, options, site, [&](tensor const&) { return plan; }));
}

work<tensor> broadcast(tensor x, process_group const& group, op_options const& options,
                       std::source_location site) {
  if (group.is_disabled()) return make_ready_work(nullptr, std::move(x));
  calling const c(*group.core(), group.channel_state(), options, site);
  return work<tensor>(launch<tensor_op>(c, op_kind::broadcast, [&](request& r) {
    r.print.root = group.place_of(group.members().lowest()).value();
    r.takes_any_shape = true;
    if (r.rank != r.print.root) return;
    detail::check_tensor(x, "the tensor");
    detail::set_print(r, x.dtype(), x.shape());
    r.in = std::move(x);
  }));
}

work<std::optional<tensor>> broadcast(std::optional<tensor> x, process_group const& group,
                                      op_options const& options, std::source_location site) {
  if (group.is_disabled()) return make_ready_work(nullptr, std::move(x));
  return group.broadcast(std::move(x), group.members().lowest(), options, site);
}

work<std::optional<tensor>> broadcast_split_tensor(std::optional<tensor> x, int seq_dim,
                                                   process_group const& group, layout how,
                                                   op_options const& options,
                                                   std::source_location site) {
  if (group.is_disabled()) return make_ready_work(nullptr, std::move(x));
  return group.scatter(std::move(x), seq_dim, how, group.members().lowest(), options, site);
}

}  // namespace hocket
