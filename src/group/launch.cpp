// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <hocket/async/detail/stop_link.hpp>

namespace hocket::detail {

// Above this, an operation's state would not come from the pool.
static_assert(sizeof(optional_tensor_op) <= block_pool::bytes_max);

void describe_call(calling const& c, op_base& op, request& r, op_kind kind) {
  auto& counter = is_send(kind) || is_recv(kind) ? c.channel.next_message : c.channel.next_sequence;
  r.print.kind = kind;
  r.rank = c.group.spec.rank.value();
  r.channel = c.channel.id;
  r.sequence = counter.fetch_add(1, std::memory_order_relaxed);
  r.op = &op;
  r.of = c.channel.shared_from_this();
  op_info& info = op.mutable_info();
  info.operation = name_of(kind);
  info.group = c.group.endpoint->label().c_str();
  info.channel = r.channel;
  info.sequence = r.sequence;
  info.site = c.site;
}

namespace {

std::uint64_t bytes_of(request const& r) {
  std::uint64_t bytes = 0;
  if (r.in.defined()) bytes += r.in.nbytes();
  if (r.out.defined() && !r.out.same_object(r.in)) bytes += r.out.nbytes();
  for (auto const& t : r.attachments) bytes += t.nbytes();
  for (auto const& p : r.parcels) {
    bytes += p.bytes.nbytes();
    for (auto const& t : p.tensors) bytes += t.nbytes();
  }
  return bytes;
}

void enter_window(request& r, op_base& op) {
  r.in_window.op = &op;
  r.in_window.bytes = bytes_of(r);
  if (r.of->under_way.enter(r.in_window)) return;
  r.local = failure_from(std::make_exception_ptr(error(errc::queue_full, r.of->under_way.story())));
}

// The story of a local failure begins with what was called; nothing is held for it.
void tell_what_was_called(request& r, op_base const& op) {
  std::string why;
  try {
    std::rethrow_exception(r.local.exception);
  } catch (std::exception const& e) {
    why = e.what();
  } catch (...) {
    why = "an exception that is not a std::exception";
  }
  r.local = make_failure(r.local.code, to_string(op.info()) + ": " + why);
  r.in = r.out = tensor();
  r.attachments.clear();
  r.parcels.clear();
}

// Returns the deadline that counts from the call.
clock::duration set_limits(calling const& c, request& r) {
  auto const& own = c.options.deadline();
  auto arrival = c.options.deadline_from_arrival();
  if (!arrival && !own) arrival = c.group.options.deadline_from_arrival();
  if (arrival) r.arrival_limit = *arrival;
  if (own) {
    r.limit = *own;
  } else if (!arrival) {
    r.limit = c.group.deadline.load(std::memory_order_relaxed);
  }
  r.revokes_on_expiry =
      c.options.on_expiry().value_or(c.group.options.on_expiry()) == expiry::revoke;
  return r.limit;
}

void take_leases(request& r, op_base& op) {
  if (r.in.defined()) r.reads = read_lease(r.in.storage());
  if (r.out.defined()) r.writes = write_lease(r.out.storage());
  for (auto const& t : r.attachments) r.attachment_reads.emplace_back(t.storage());
  for (auto const& p : r.parcels)
    for (auto const& t : p.tensors) r.attachment_reads.emplace_back(t.storage());

  auto const is_unowned = [](auto const& lease) { return lease && lease.held()->is_unowned(); };
  if (is_unowned(r.reads) || is_unowned(r.writes) ||
      std::ranges::any_of(r.attachment_reads, is_unowned))
    op.hold_waits_until_finished();
}

}  // namespace

void submit(calling const& c, op_base& op, request& r) {
  bool const closed = c.channel.one_op ? c.channel.closed.exchange(true)
                                       : c.channel.closed.load(std::memory_order_acquire);
  if (closed) {
    op.finish(make_failure(make_error_code(errc::group_closed),
                           fmt::format("{}: this channel was closed here", to_string(op.info()))));
    return;
  }
  if (!r.local.exception) enter_window(r, op);
  if (r.local.exception) tell_what_was_called(r, op);
  take_leases(r, op);
  r.ready = c.options.after();

  auto const limit = set_limits(c, r);
  op_ref const keep(&op);  // the engine may end it before this returns
  if (limit > clock::duration::zero() && (limit != clock::duration::max() || r.awaits_arrival()))
    c.group.rt.arm(op, limit);
  cancel_on_stop(op, c.options.stop());
  intrusive_ptr_add_ref(&op);  // the engine's, until request::complete
  c.group.endpoint->submit(r);
  if (c.channel.one_op) c.group.endpoint->close_channel(c.channel.id);
  if (limit <= clock::duration::zero()) op.expire();  // no effect on what is done already
}

void end_early(op_base const& op, request& r, endpoint& at) noexcept {
  bool const revokes = r.revokes_on_expiry && op.decided() == verdict::expired;
  std::string reason;
  if (revokes) reason = to_string(op.info()) + ": " + at.missing(r);
  at.withdraw(r);
  if (revokes) at.revoke(reason);
}

void report_if_unseen(op_base const& op, request const& r) noexcept {
  if (r.of && op.settled() && op.state() != verdict::aborted && op.failed() && !op.was_told())
    r.of->reporter->report(op);
}

void hand_back(request& r, port* home) noexcept {
  hand_back(r.in, home);
  hand_back(r.out, home);
  for (auto& t : r.attachments) hand_back(t, home);
  r.attachments.clear();
  for (auto& p : r.parcels)
    for (auto& t : p.tensors) hand_back(t, home);
  r.parcels.clear();
}

void check_tensor(tensor const& t, char const* what) {
  if (!t.defined()) throw error(errc::invalid_argument, fmt::format("{} is undefined", what));
  if (t.device().kind != device_kind::host)
    throw error(errc::unsupported, fmt::format("{} is on {}, this group moves host memory", what,
                                               to_string(t.device())));
}

void check_output(tensor const& out) {
  if (!out.overlaps_itself()) return;
  throw error(
      errc::invalid_argument,
      fmt::format("the strides of output {} give several elements one address", brief(out)));
}

void check_supported(calling const& c, op_kind kind, dtype type, reduction red) {
  if (c.group.endpoint->supports(kind, type, red)) return;
  throw error(errc::unsupported, fmt::format("{} of {} ({}) is not supported by this engine",
                                             name_of(kind), name_of(type), name_of(red)));
}

void check_aliasing(tensor const& part, tensor const& whole, split_plan const* plan, int rank) {
  if (!part.defined() || !whole.defined() || !part.overlaps(whole)) return;
  if (plan == nullptr)
    throw error(errc::invalid_argument,
                fmt::format("input {} overlaps output {}", brief(part), brief(whole)));
  if (part.ndim() == whole.ndim() && part.shares_storage(whole)) {
    auto const pieces = plan->pieces(rank);
    if (pieces.size() == 0) return;
    if (pieces.size() == 1 && pieces[0].length == plan->part_size(rank)) {
      auto const own = whole.slice(static_cast<std::int64_t>(plan->dim()), pieces[0].full_start,
                                   pieces[0].length);
      if (own.storage_offset() == part.storage_offset() && own.shape() == part.shape() &&
          std::ranges::equal(own.strides(), part.strides()))
        return;
    }
  }
  throw error(errc::invalid_argument,
              fmt::format("part {} overlaps the whole {} but is not exactly rank {}'s part of it",
                          brief(part), brief(whole), rank));
}

void check_in_place(tensor const& in, tensor const& out) {
  if (!in.overlaps(out)) return;
  if (in.shares_storage(out) && in.storage_offset() == out.storage_offset() &&
      in.shape() == out.shape() && std::ranges::equal(in.strides(), out.strides()))
    return;
  throw error(errc::invalid_argument, fmt::format("input {} overlaps output {} but is not the same",
                                                  brief(in), brief(out)));
}

void set_print(request& r, dtype type, shape const& whole) {
  r.print.has_shape = true;
  r.print.dtype = type;
  r.print.count = whole.numel();
  r.print.shape_hash = hash_of(whole);
  if (r.plan) r.print.plan_hash = r.plan->hash();
}

}  // namespace hocket::detail
