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

namespace hocket::matching {
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

void scatter_to(request& to, request const& root) {
  if (!root.in.defined()) return;  // nobody has a value
  if (to.takes_any_shape) {
    to.out = root.is_remote() ? root.in : split(root.in, *root.plan, to.rank);
    return;
  }
  split_plan const& plan = root.is_remote() ? *to.plan : *root.plan;
  auto const dim = static_cast<std::int64_t>(plan.dim());
  if (root.is_remote()) {
    auto const valid = plan.valid_size(to.rank);  // padding is left as it is
    tensor const part = root.in.reshape(to.out.shape());
    return copy_to(to, to.out.slice(dim, 0, valid), part.slice(dim, 0, valid));
  }
  tensor const out = part_like(to.out, root.in, plan, to.rank);
  for (auto const& p : plan.pieces(to.rank))
    copy_to(to, out.slice(dim, p.part_start, p.length), root.in.slice(dim, p.full_start, p.length));
}

void broadcast_to(request& to, request const& root) {
  if (&to == &root) {
    to.out = to.in;
  } else if (!root.in.defined() && to.takes_any_shape) {
    to.out = tensor();
  } else if (!root.in.defined()) {
    throw error(errc::mismatch,
                fmt::format("rank {} has no tensor to give, {}", root.rank, describe(to)));
  } else if (to.takes_any_shape) {
    to.out = root.is_remote() ? root.in : root.in.clone();
  } else {
    copy_to(to, to.out, root.in.reshape(to.out.shape()));
  }
}

// What came from another process is nobody else's.
std::vector<tensor> own_tensors(request const& from, std::vector<tensor> const& tensors) {
  if (from.is_remote()) return tensors;
  std::vector<tensor> made;
  for (auto const& t : tensors) made.push_back(t.clone());
  return made;
}

// A received object shares the bytes, which are never written again, and has tensors of its own.
void copy_object(request& to, request const& from) {
  to.out = from.in;
  to.attachments = own_tensors(from, from.attachments);
}

void broadcast_object_to(request& to, request const& root) {
  if (&to == &root) {
    to.out = to.in;
  } else {
    copy_object(to, root);
  }
}

void gather_objects_into(request& root, std::span<request* const> parts) {
  for (request* from : parts) {
    parcel p;
    p.bytes = from->in;
    p.tensors = from == &root ? from->attachments : own_tensors(*from, from->attachments);
    root.parcels.push_back(std::move(p));
  }
}

void scatter_object_to(request& to, request& root) {
  if (root.is_remote()) return copy_object(to, root);
  parcel& p = root.parcels[static_cast<std::size_t>(to.rank)];
  to.out = p.bytes;
  to.attachments = &to == &root ? std::move(p.tensors) : own_tensors(root, p.tensors);
}

// One side's part of an exchange, which lies in one piece, if it has any elements.
tensor part_of(tensor const& t, split_plan const& plan, int part) {
  auto const pieces = plan.pieces(part);
  auto const dim = static_cast<std::int64_t>(plan.dim());
  return pieces.size() == 0 ? t.slice(dim, 0, 0)
                            : t.slice(dim, pieces[0].full_start, pieces[0].length);
}

// What `to` gets from each of the others; `sources` are their inputs.
void exchange_to(request& to, std::span<request* const> parts, std::span<tensor const> sources) {
  for (std::size_t r = 0; r < parts.size(); ++r) {
    request const& from = *parts[r];
    auto const expected = to.received->part_size(from.rank);
    auto const sent = from.is_remote() ? sources[r].size(static_cast<std::int64_t>(to.plan->dim()))
                                       : from.plan->part_size(to.rank);
    if (sent != expected)
      throw error(errc::mismatch, fmt::format("rank {} sends {} to rank {}, which expects {}",
                                              from.rank, sent, to.rank, expected));
    copy_to(to, part_of(to.out, *to.received, from.rank),
            from.is_remote() ? sources[r] : part_of(sources[r], *from.plan, to.rank));
  }
}

void exchange(std::span<request* const> parts) {
  std::vector<tensor> sources;
  for (request* const from : parts) {
    // In place: what is overwritten must have been read.
    bool const in_place = from->in.numel() != 0 && same_place(from->in, from->out);
    sources.push_back(in_place ? from->in.clone() : from->in);
  }
  for (request* const to : parts) {
    for (request const* const from : parts)
      if (from->plan->part_size(to->rank) != to->received->part_size(from->rank))
        throw error(errc::mismatch, fmt::format("rank {} sends {} to rank {}, which expects {}",
                                                from->rank, from->plan->part_size(to->rank),
                                                to->rank, to->received->part_size(from->rank)));
  }
  for (request* const to : parts) exchange_to(*to, parts, sources);
}

}  // namespace

tensor part_like(tensor const& part, tensor const& whole, split_plan const& plan, int r) {
  if (part.ndim() == whole.ndim()) return part;
  return part.reshape(plan.shard_shape(whole.shape(), r));
}

void fill(request& to, std::span<request* const> parts) {
  fingerprint const& print = parts.front()->print;
  auto const root = static_cast<std::size_t>(print.root);
  switch (print.kind) {
    case op_kind::barrier:
    case op_kind::monitored_barrier:
      return;
    case op_kind::broadcast:
      return broadcast_to(to, *parts[root]);
    case op_kind::broadcast_object:
      return broadcast_object_to(to, *parts[root]);
    case op_kind::all_gather:
      return gather_into(to, parts);
    case op_kind::gather:
      if (to.rank == print.root) gather_into(to, parts);
      return;
    case op_kind::scatter:
      return scatter_to(to, *parts[root]);
    case op_kind::reduce:
      if (to.rank == print.root) reduce_whole(parts);
      return;
    case op_kind::all_reduce:
      return reduce_whole(parts);
    case op_kind::reduce_scatter:
      return reduce_part(to, parts);
    case op_kind::all_to_all: {
      std::vector<tensor> sources;
      for (request const* const from : parts)  // in place: what is overwritten must have been read
        sources.push_back(from == &to && same_place(to.in, to.out) ? to.in.clone() : from->in);
      return exchange_to(to, parts, sources);
    }
    case op_kind::gather_objects:
      if (to.rank == print.root) gather_objects_into(to, parts);
      return;
    case op_kind::scatter_objects:
      return scatter_object_to(to, *parts[root]);
    case op_kind::send:
    case op_kind::recv:
    case op_kind::send_object:
    case op_kind::recv_object:
      break;  // messages do not meet
  }
  HOCKET_ASSERT(false);
}

void transfer(std::span<request* const> parts) {
  auto const kind = parts.front()->print.kind;
  if (kind == op_kind::reduce || kind == op_kind::all_reduce) return reduce_whole(parts);
  if (kind == op_kind::all_to_all) return exchange(parts);
  for (request* const to : parts) fill(*to, parts);
  if (kind == op_kind::scatter_objects)
    parts[static_cast<std::size_t>(parts.front()->print.root)]->parcels.clear();
}

void transfer(request& send, request& recv) {
  if (send.print.kind == op_kind::send_object) {
    recv.peer = send.rank;  // for the story of bytes that cannot be read
    copy_object(recv, send);
  } else if (recv.takes_any_shape) {
    recv.out = send.is_remote() ? send.in : send.in.clone();
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

}  // namespace hocket::matching
