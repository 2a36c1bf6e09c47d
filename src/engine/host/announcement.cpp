// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "announcement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <hocket/error.hpp>
#include <hocket/tensor/split_plan.hpp>
#include <limits>
#include <utility>

#include "engine/matching/roster.hpp"
#include "memory_reader.hpp"
#include "wire.hpp"

namespace hocket::host {
namespace {

using detail::failure;
using matching::what_of;

// Members of larger groups do not tell all others how they cut an exchange.
constexpr int sizes_max = 4096;

bool same_place(tensor const& a, tensor const& b) {
  return a.defined() && b.defined() && a.numel() != 0 && a.const_bytes() == b.const_bytes();
}

// The calls whose input is cut into a part for each member.
bool is_cut(op_kind k) noexcept {
  return k == op_kind::scatter || k == op_kind::all_to_all || k == op_kind::reduce_scatter;
}

void put_shape(byte_writer& to, dtype type, shape const& s) {
  to.put(type);
  to.put(static_cast<std::uint8_t>(s.size()));
  for (auto const extent : s) to.put(extent);
}

void take_shape(byte_reader& from, dtype& type, shape& s) {
  auto const number = from.take<std::uint8_t>();
  if (number >= dtype_count)
    throw error(errc::corrupt, fmt::format("dtype {} does not exist", number));
  type = static_cast<dtype>(number);
  auto const dims = from.take<std::uint8_t>();
  if (dims > shape::ndim_max)
    throw error(errc::corrupt, fmt::format("a tensor of {} dimensions", dims));
  std::int64_t count = 1;
  for (int i = 0; i < dims; ++i) {
    auto const extent = from.take<std::int64_t>();
    if (extent < 0 ||
        (extent > 0 && count > std::numeric_limits<std::int64_t>::max() / 64 / extent))
      throw error(errc::corrupt, fmt::format("a dimension of {}", extent));
    count *= std::max<std::int64_t>(extent, 1);
    s.append(extent);
  }
}

// What an exchange cuts, for all members to compare: the parts that it sends, and those it expects.
void put_sizes(byte_writer& to, request const* r) {
  bool const exchanges = r != nullptr && r->print.kind == op_kind::all_to_all && r->plan &&
                         r->received && r->plan->parts() <= sizes_max;
  auto const n = exchanges ? r->plan->parts() : 0;
  to.put(static_cast<std::uint32_t>(n));
  for (int i = 0; i < n; ++i) {
    to.put(r->plan->part_size(i));
    to.put(r->received->part_size(i));
  }
}

void take_sizes(byte_reader& from, remote_call& c, int members) {
  auto const n = from.take<std::uint32_t>();
  if (n != 0 && n != static_cast<std::uint32_t>(members))
    throw error(errc::corrupt, fmt::format("{} parts for a group of {}", n, members));
  for (std::uint32_t i = 0; i < n; ++i) {
    c.sends.push_back(from.take<std::int64_t>());
    c.expects.push_back(from.take<std::int64_t>());
  }
}

void put_gifts(letter& l, std::span<tensor const> gifts, bool is_inline, std::uint64_t exposure) {
  byte_writer to(l.body);
  to.put(static_cast<std::uint32_t>(gifts.size()));
  for (auto const& t : gifts) {
    put_shape(to, t.dtype(), t.shape());
    to.put(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(t.const_bytes())));
  }
  to.put(seal_of_this_process());
  if (l.body.size() > extra_bytes_max)
    throw error(errc::too_large,
                fmt::format("what the call gives takes {} bytes to describe ({} tensors), at most "
                            "{} are possible",
                            l.body.size(), gifts.size(), extra_bytes_max));
  l.head.flags |= is_inline ? frame_flags::is_inline : 0;
  l.head.address = exposure;
  l.head.extra_bytes = static_cast<std::uint32_t>(l.body.size());
  if (is_inline)
    for (auto const& t : gifts) to.put_bytes({t.const_bytes(), t.nbytes()});
  l.head.payload_bytes = static_cast<std::uint32_t>(l.body.size() - l.head.extra_bytes);
}

told_gifts take_gifts(frame_head const& head, byte_reader& from,
                      std::span<std::byte const> payload) {
  told_gifts told;
  told.is_here = (head.flags & frame_flags::is_inline) != 0;
  told.exposure = head.address;
  for (auto n = from.take<std::uint32_t>(); n > 0; --n) {
    given g;
    take_shape(from, g.dtype, g.shape);
    g.address = from.take<std::uint64_t>();
    told.gives.push_back(std::move(g));
  }
  told.seal = from.take<std::uint32_t>();
  byte_reader bytes(payload);
  if (told.is_here)
    for (given const& g : told.gives) {
      auto const its = bytes.take_bytes(g.bytes());
      auto const& t = told.items.emplace_back(tensor::empty(g.dtype, g.shape));
      if (!its.empty()) std::memcpy(t.bytes(), its.data(), its.size());
    }
  if (!bytes.empty()) throw error(errc::corrupt, "a call has more bytes than it describes");
  return told;
}

}  // namespace

bool fits_inline(std::size_t bytes, int receivers) noexcept {
  return bytes <= inline_bytes_max &&
         bytes * static_cast<std::size_t>(receivers) <= 2 * inline_bytes_max;
}

std::size_t bytes_of(std::span<tensor const> gifts) {
  std::size_t bytes = 0;
  for (auto const& t : gifts) bytes += t.nbytes();
  return bytes;
}

announcement::announcement(request& r, bool is_marked, bool in_slices)
    : call_(r), is_marked_(is_marked), in_slices_(in_slices), source_(r.in) {
  if (is_marked) return;
  if (r.print.kind == op_kind::all_to_all && same_place(r.in, r.out)) source_ = r.in.clone();
}

bool announcement::gives(int to) const noexcept {
  if (call_.local.exception || is_marked_) return false;
  int const root = call_.print.root;
  bool const is_root = call_.rank == root;
  switch (call_.print.kind) {
    case op_kind::broadcast:
    case op_kind::scatter:
    case op_kind::broadcast_object:
      return is_root && call_.in.defined();
    case op_kind::scatter_objects:
      return is_root;
    case op_kind::reduce:
      return to == root || in_slices_;
    case op_kind::gather:
    case op_kind::gather_objects:
      return to == root;
    case op_kind::barrier:
    case op_kind::monitored_barrier:
      return false;
    default:
      return true;
  }
}

std::vector<tensor> announcement::gifts(int to) const {
  std::vector<tensor> all;
  if (!gives(to)) return all;
  auto const kind = call_.print.kind;
  if (kind == op_kind::scatter_objects) {
    parcel const& p = call_.parcels[static_cast<std::size_t>(to)];
    all.push_back(p.bytes);
    for (auto const& t : p.tensors) all.push_back(t.contiguous());
    return all;
  }
  if (is_cut(kind)) {
    all.push_back(split_view(source_, *call_.plan, to).contiguous());
    return all;
  }
  all.push_back(source_.contiguous());
  for (auto const& t : call_.attachments) all.push_back(t.contiguous());
  return all;
}

frame_head announcement::head_for(frame_kind kind, std::uint64_t group,
                                  std::uint64_t handle) const {
  frame_head h;
  h.kind = kind;
  h.rank = call_.rank;
  h.group = group;
  h.channel = call_.channel;
  h.sequence = call_.sequence;
  h.handle = handle;
  return h;
}

letter announcement::letter_for(std::uint64_t group, std::span<tensor const> gifts, bool is_inline,
                                std::uint64_t exposure, std::uint64_t handle) const {
  fingerprint const& print = call_.print;
  bool const failed = call_.local.exception != nullptr;
  letter l;
  l.head = head_for(failed ? frame_kind::failed : frame_kind::call, group, handle);
  frame_head& h = l.head;
  h.operation = static_cast<std::uint8_t>(print.kind);
  h.dtype = static_cast<std::uint8_t>(print.dtype);
  h.reduction = static_cast<std::uint8_t>(print.reduction);
  h.flags = (print.has_shape ? frame_flags::has_shape : 0) |
            (call_.takes_any_shape ? frame_flags::takes_any_shape : 0) |
            (is_marked_ ? frame_flags::is_marked : 0);
  h.root = print.root;
  h.count = print.count;
  h.shape_hash = print.shape_hash;
  h.plan_hash = print.plan_hash;
  h.tag = call_.tag;
  h.bytes = print.type_hash;
  h.factor = call_.factor;

  byte_writer to(l.body);
  to.put_text(to_string(call_.op->info().site));
  tensor const& shown = call_.in.defined() ? call_.in : call_.out;
  to.put(static_cast<std::uint8_t>(shown.defined() ? 1 : 0));
  if (shown.defined()) put_shape(to, shown.dtype(), shown.shape());
  put_sizes(to, failed ? nullptr : &call_);
  if (failed) {
    h.code = wire_code(call_.local.code);
    to.put_text(what_of(call_.local.exception));
  }
  put_gifts(l, gifts, is_inline, exposure);
  return l;
}

letter announcement::mark_for(std::uint64_t group, std::span<tensor const> gifts, bool is_inline,
                              std::uint64_t exposure, std::uint64_t handle) const {
  letter l;
  l.head = head_for(frame_kind::mark, group, handle);
  put_gifts(l, gifts, is_inline, exposure);
  return l;
}

letter announcement::failed_mark_for(std::uint64_t group, failure const& why,
                                     std::uint64_t handle) const {
  letter l;
  l.head = head_for(frame_kind::mark, group, handle);
  l.head.code = wire_code(why.code);
  byte_writer(l.body).put_text(what_of(why.exception));
  l.head.extra_bytes = static_cast<std::uint32_t>(l.body.size());
  return l;
}

std::uint32_t wire_code(boost::system::error_code code) noexcept {
  bool const ours = code.category() == hocket_category();
  return static_cast<std::uint32_t>(ours ? code.value() : static_cast<int>(errc::peer_failed));
}

errc code_of_wire(std::uint32_t code) {
  if (code < static_cast<std::uint32_t>(errc::invalid_argument) ||
      code > static_cast<std::uint32_t>(errc::out_of_memory))
    throw error(errc::corrupt, fmt::format("failure code {} does not exist", code));
  return static_cast<errc>(code);
}

void told_gifts::move_to(remote_call& c) && {
  c.gives = std::move(gives);
  c.is_here = is_here;
  c.exposure = exposure;
  c.seal = seal;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i == 0) {
      c.asked.in = std::move(items[i]);
    } else {
      c.asked.attachments.push_back(std::move(items[i]));
    }
  }
}

told_gifts read_mark(frame_head const& head, std::span<std::byte const> extra,
                     std::span<std::byte const> payload) {
  byte_reader from(extra);
  auto told = take_gifts(head, from, payload);
  if (!from.empty()) throw error(errc::corrupt, "a mark frame says more than it should");
  return told;
}

boost::intrusive_ptr<remote_call> read_announcement(frame_head const& head,
                                                    std::span<std::byte const> extra,
                                                    std::span<std::byte const> payload,
                                                    std::string const& group, int members) {
  boost::intrusive_ptr<remote_call> const c(new remote_call(group), false);
  request& r = c->asked;
  fingerprint& print = r.print;
  if (head.operation > static_cast<std::uint8_t>(op_kind::monitored_barrier) ||
      head.dtype >= dtype_count || head.reduction >= reduction_count)
    throw error(errc::corrupt, "a call names an operation, dtype or reduction that does not exist");
  print.kind = static_cast<op_kind>(head.operation);
  print.dtype = static_cast<dtype>(head.dtype);
  print.reduction = static_cast<reduction>(head.reduction);
  print.has_shape = (head.flags & frame_flags::has_shape) != 0;
  print.root = head.root;
  print.count = head.count;
  print.shape_hash = head.shape_hash;
  print.plan_hash = head.plan_hash;
  print.type_hash = head.bytes;
  if (print.root < -1 || print.root >= members)
    throw error(errc::corrupt, fmt::format("root {} of a group of {}", print.root, members));
  r.takes_any_shape = (head.flags & frame_flags::takes_any_shape) != 0;
  r.rank = head.rank;
  r.tag = head.tag;
  r.factor = head.factor;
  r.channel = head.channel;
  r.sequence = head.sequence;
  r.op = c.get();
  r.remote = &c->part;
  r.buffers_ready = (head.flags & frame_flags::is_marked) == 0;
  c->message = head.handle;
  c->name();

  byte_reader from(extra);
  c->part.site = from.take_text();
  c->part.has_tensor = from.take<std::uint8_t>() != 0;
  if (c->part.has_tensor) take_shape(from, c->part.dtype, c->part.shape);
  take_sizes(from, *c, members);
  if (head.kind == frame_kind::failed)
    r.local = detail::make_failure(make_error_code(code_of_wire(head.code)), from.take_text());
  take_gifts(head, from, payload).move_to(*c);
  if (!from.empty()) throw error(errc::corrupt, "a call frame says more than it should");
  return c;
}

}  // namespace hocket::host
