// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "movement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <hocket/detail/assert.hpp>
#include <hocket/error.hpp>
#include <hocket/tensor/copy.hpp>
#include <new>
#include <utility>
#include <vector>

#include "reducing.hpp"

namespace hocket::local {
namespace {

bool same_place(tensor const& a, tensor const& b) {
  return a.numel() == 0 || (a.const_bytes() == b.const_bytes() && a.shape() == b.shape() &&
                            std::ranges::equal(a.strides(), b.strides()));
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

std::vector<tensor> clones_of(std::vector<tensor> const& tensors) {
  std::vector<tensor> made;
  for (auto const& t : tensors) made.push_back(t.clone());
  return made;
}

// A received object shares the bytes, which are never written again, and has tensors of its own.
void copy_object(request& to, request const& from) {
  to.out = from.in;
  to.attachments = clones_of(from.attachments);
}

void broadcast_object_from(request& root, std::span<request* const> parts) {
  for (request* to : parts)
    if (to != &root) copy_object(*to, root);
  root.out = root.in;
}

void gather_objects_into(request& root, std::span<request* const> parts) {
  for (request* from : parts) {
    parcel p;
    p.bytes = from->in;
    p.tensors = from == &root ? from->attachments : clones_of(from->attachments);
    root.parcels.push_back(std::move(p));
  }
}

void scatter_objects_from(request& root, std::span<request* const> parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parcel& p = root.parcels[i];
    parts[i]->out = p.bytes;
    parts[i]->attachments = parts[i] == &root ? std::move(p.tensors) : clones_of(p.tensors);
  }
  root.parcels.clear();
}

// One side's part of an exchange, which lies in one piece, if it has any elements.
tensor part_of(tensor const& t, split_plan const& plan, int part) {
  auto const pieces = plan.pieces(part);
  auto const dim = static_cast<std::int64_t>(plan.dim());
  return pieces.size() == 0 ? t.slice(dim, 0, 0)
                            : t.slice(dim, pieces[0].full_start, pieces[0].length);
}

void exchange(std::span<request* const> parts) {
  int const n = static_cast<int>(parts.size());
  std::vector<tensor> sources;
  for (request* const from : parts) {
    for (int r = 0; r < n; ++r) {
      auto const sent = from->plan->part_size(r);
      auto const expected = parts[static_cast<std::size_t>(r)]->received->part_size(from->rank);
      if (sent != expected)
        throw error(errc::mismatch, fmt::format("rank {} sends {} to rank {}, which expects {}",
                                                from->rank, sent, r, expected));
    }
    // In place: what is overwritten must have been read.
    bool const in_place = from->in.numel() != 0 && same_place(from->in, from->out);
    sources.push_back(in_place ? from->in.clone() : from->in);
  }
  for (request* const to : parts)
    for (int r = 0; r < n; ++r)
      copy_to(*to, part_of(to->out, *to->received, r),
              part_of(sources[static_cast<std::size_t>(r)],
                      *parts[static_cast<std::size_t>(r)]->plan, to->rank));
}

}  // namespace

tensor part_like(tensor const& part, tensor const& whole, split_plan const& plan, int r) {
  if (part.ndim() == whole.ndim()) return part;
  return part.reshape(plan.shard_shape(whole.shape(), r));
}

void transfer(std::span<request* const> parts) {
  fingerprint const& print = parts.front()->print;
  auto const root = static_cast<std::size_t>(print.root);
  switch (print.kind) {
    case op_kind::barrier:
    case op_kind::monitored_barrier:
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
    case op_kind::reduce:
    case op_kind::all_reduce:
      return reduce_whole(parts);
    case op_kind::reduce_scatter:
      return reduce_parts(parts);
    case op_kind::all_to_all:
      return exchange(parts);
    case op_kind::gather_objects:
      return gather_objects_into(*parts[root], parts);
    case op_kind::scatter_objects:
      return scatter_objects_from(*parts[root], parts);
    case op_kind::send:
    case op_kind::recv:
    case op_kind::send_object:
    case op_kind::recv_object:
      break;  // messages do not meet
  }
  HOCKET_ASSERT(false);
}

void transfer(request& send, request& recv) {
  if (send.print.kind == op_kind::send_object) {
    recv.peer = send.rank;  // for the story of bytes that cannot be read
    copy_object(recv, send);
  } else if (recv.takes_any_shape) {
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
    for (auto const& p : r->parcels)
      for (auto const& t : p.tensors) bytes += t.nbytes();
  }
  auto const kind = parts.front()->print.kind;
  bool const to_everybody = kind == op_kind::broadcast || kind == op_kind::broadcast_object ||
                            kind == op_kind::all_gather || kind == op_kind::all_reduce;
  return to_everybody ? bytes * parts.size() : bytes;
}

}  // namespace hocket::local
