// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "reducing.hpp"

#include <cstddef>
#include <hocket/tensor/copy.hpp>
#include <vector>

#include "algorithm/reduce.hpp"
#include "movement.hpp"

namespace hocket::matching {
namespace {

// Where a result goes: straight into the output, or beside it where its elements lie apart.
class target {
 public:
  target(request& to, tensor out) : to_(&to), out_(std::move(out)) {
    if (!out_.is_contiguous()) beside_ = tensor::empty(out_.dtype(), out_.shape());
  }
  std::byte* bytes() { return beside_.defined() ? beside_.bytes() : out_.bytes(to_->writes); }
  void finish() {
    if (beside_.defined()) copy(out_, beside_, to_->writes);
  }

 private:
  request* to_;
  tensor out_;
  tensor beside_;
};

std::vector<double> factors_of(std::span<request* const> parts) {
  std::vector<double> factors;
  if (parts.front()->print.reduction == reduction::premultiplied_sum)
    for (request const* const r : parts) factors.push_back(r->factor);
  return factors;
}

void reduce_into(fingerprint const& print, std::vector<tensor>& inputs,
                 std::vector<target>& targets, std::vector<double> const& factors) {
  std::vector<std::byte const*> from;
  std::vector<std::byte*> to;
  for (auto& in : inputs) {
    in = in.contiguous();
    from.push_back(in.const_bytes());
  }
  for (auto& t : targets) to.push_back(t.bytes());
  algorithm::reduce(print.reduction, print.dtype, from, to, inputs.front().numel(), factors);
  for (auto& t : targets) t.finish();
}

}  // namespace

void reduce_whole(std::span<request* const> parts) {
  std::vector<tensor> inputs;
  std::vector<target> targets;
  for (request* const r : parts) {
    inputs.push_back(r->in);
    if (r->out.defined()) targets.emplace_back(*r, r->out);
  }
  reduce_into(parts.front()->print, inputs, targets, factors_of(parts));
}

void reduce_part(request& to, std::span<request* const> parts) {
  auto const factors = factors_of(parts);
  split_plan const& plan = *to.plan;
  auto const dim = static_cast<std::int64_t>(plan.dim());
  tensor const out = part_like(to.out, to.in, plan, to.rank);
  for (auto const& p : plan.pieces(to.rank)) {
    std::vector<tensor> inputs;
    for (request const* const r : parts)
      inputs.push_back(r->in.slice(dim, r->is_remote() ? p.part_start : p.full_start, p.length));
    std::vector<target> targets;
    targets.emplace_back(to, out.slice(dim, p.part_start, p.length));
    reduce_into(to.print, inputs, targets, factors);
  }
}

}  // namespace hocket::matching
