// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "movement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <hocket/error.hpp>
#include <hocket/tensor/copy.hpp>
#include <new>

namespace hocket::local {
namespace {

bool same_place(tensor const& a, tensor const& b) {
  return a.numel() == 0 || (a.const_bytes() == b.const_bytes() && a.shape() == b.shape() &&
                            std::ranges::equal(a.strides(), b.strides()));
}

// A part with the dimensions of the whole: [k] beside [n, k] becomes [1, k].
tensor part_like(tensor const& part, tensor const& whole, split_plan const& plan, int r) {
  if (part.ndim() == whole.ndim()) return part;
  return part.reshape(plan.shard_shape(whole.shape(), r));
}

void copy_to(request& to, tensor const& dst, tensor const& src) {
  if (!same_place(dst, src)) copy(dst, src, to.writes);
}

void gather_into(request& to, std::span<request* const> parts) {
  split_plan const& plan = *to.plan;
  for (std::size_t r = 0; r < parts.size(); ++r) {
    tensor const part = part_like(parts[r]->in, to.out, plan, static_cast<int>(r));
    auto const pieces = plan.pieces(static_cast<int>(r));
    for (auto const& p : pieces) {
      auto const dim = static_cast<std::int64_t>(plan.dim());
      copy_to(to, to.out.slice(dim, p.full_start, p.length),
              part.slice(dim, p.part_start, p.length));
    }
  }
}

void scatter_from(request& root, std::span<request* const> parts) {
  if (!root.in.defined()) return;  // nobody has a value
  split_plan const& plan = *root.plan;
  for (std::size_t r = 0; r < parts.size(); ++r) {
    request& to = *parts[r];
    int const part = static_cast<int>(r);
    if (to.takes_any_shape) {
      to.out = split(root.in, plan, part);
      continue;
    }
    tensor const out = part_like(to.out, root.in, plan, part);
    auto const dim = static_cast<std::int64_t>(plan.dim());
    for (auto const& p : plan.pieces(part))
      copy_to(to, out.slice(dim, p.part_start, p.length),
              root.in.slice(dim, p.full_start, p.length));
  }
}

void broadcast_from(request& root, std::span<request* const> parts) {
  for (request* to : parts) {
    if (to == &root) {
      to->out = to->in;
    } else if (!root.in.defined() && to->takes_any_shape) {
      to->out = tensor();
    } else if (!root.in.defined()) {
      throw error(errc::mismatch,
                  fmt::format("rank {} has no tensor to give, {}", root.rank, describe(*to)));
    } else if (to->takes_any_shape) {
      to->out = root.in.clone();
    } else {
      copy_to(*to, to->out, root.in);
    }
  }
}

void broadcast_object_from(request& root, std::span<request* const> parts) {
  for (request* to : parts) {
    to->out = root.in;  // encoded bytes are never written again: shared
    if (to == &root) continue;
    to->attachments.clear();
    for (auto const& t : root.attachments) to->attachments.push_back(t.clone());
  }
}

}  // namespace

void transfer(std::span<request* const> parts) {
  fingerprint const& print = parts.front()->print;
  auto const root = static_cast<std::size_t>(print.root);
  switch (print.kind) {
    case op_kind::barrier:
      return;
    case op_kind::broadcast:
      return broadcast_from(*parts[root], parts);
    case op_kind::broadcast_object:
      return broadcast_object_from(*parts[root], parts);
    case op_kind::all_gather:
      for (request* to : parts) gather_into(*to, parts);
      return;
    case op_kind::gather:
      return gather_into(*parts[root], parts);
    case op_kind::scatter:
      return scatter_from(*parts[root], parts);
    default:
      throw error(errc::unsupported,
                  std::string(name_of(print.kind)) + " is not supported by the local engine");
  }
}

void transfer(request& send, request& recv) {
  if (recv.takes_any_shape) {
    recv.out = send.in.clone();
  } else {
    bool const alike = recv.out.shape() == send.in.shape();
    // Another shape of as many elements: a view of the source where its strides allow one.
    copy_to(recv, recv.out, alike ? send.in : send.in.contiguous().reshape(recv.out.shape()));
  }
}

detail::failure failure_of(request const& r, std::exception_ptr const& e) {
  auto const what = to_string(r.op->info());
  try {
    std::rethrow_exception(e);
  } catch (error const& x) {
    return detail::make_failure(x.code(), what + ": " + x.what());
  } catch (std::bad_alloc const&) {
    return detail::make_failure(make_error_code(errc::out_of_memory),
                                what + ": no memory for the result");
  } catch (...) {
    return detail::failure_from(e);
  }
}

std::size_t bytes_of(std::span<request* const> parts) {
  std::size_t bytes = 0;
  for (request const* r : parts) {
    if (r->in.defined()) bytes += r->in.nbytes();
    for (auto const& t : r->attachments) bytes += t.nbytes();
  }
  return bytes * parts.size();
}

}  // namespace hocket::local
