// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "channel.hpp"

#include <fmt/format.h>

#include <hocket/error.hpp>

namespace hocket::matching {

void fail_for_mark(request& r, std::exception_ptr const& e) {
  r.local = detail::make_failure(
      detail::failure_from(e).code,
      fmt::format("{}: the mark of after() failed: {}", to_string(r.op->info()), what_of(e)));
}

channel::channel(roster const& members, std::uint64_t number)
    : id(number), members_(members, number), meetings_(members_), mailroom_(members_) {}

void channel::submit(request& r, decisions& d) {
  bool const message = is_message(r.print.kind);
  auto const& out_of_step = meetings_.out_of_step();
  if (out_of_step.exception && (message || meetings_.is_too_late(r))) return d.end(r, out_of_step);
  if (message) return is_send(r.print.kind) ? mailroom_.send(r, d) : mailroom_.recv(r, d);
  bool const was_in_step = !out_of_step.exception;
  meetings_.meet(r, d);
  if (was_in_step && out_of_step.exception)
    mailroom_.end_all([&](request const&) { return out_of_step; }, d);
}

void channel::withdraw(request& r, decisions& d) {
  if (r.print.kind == op_kind::monitored_barrier) return meetings_.give_up(r, d);
  if (mailroom_.withdraw(r)) d.end(r, detail::make_failure(operation_aborted(), "withdrawn"));
}

void channel::pending(int rank, std::vector<std::string>& lines) {
  meetings_.pending(rank, lines);
  mailroom_.for_each_recv(rank, [&](request const& r) {
    lines.push_back(fmt::format("{}: {}: {}", members_.all().place(r), describe(r), missing(r)));
  });
}

void channel::buffers_ready(request& r, std::exception_ptr const& e, decisions& d) {
  if (e) fail_for_mark(r, e);
  if (is_message(r.print.kind)) {
    mailroom_.buffers_ready(r, e, d);
  } else {
    meetings_.buffers_ready(r, e, d);
  }
}

void channel::close(int rank, decisions& d) {
  members_.close(rank);
  member_left(rank, d);
}

void channel::member_left(int rank, decisions& d) {
  meetings_.member_left(rank, d);
  mailroom_.member_left(rank, d);
}

void channel::end_all(std::function<detail::failure(request const&)> const& why, decisions& d) {
  meetings_.end_all(why, d);
  mailroom_.end_all(why, d);
}

std::unique_ptr<meeting> channel::retire(meeting& m) noexcept { return meetings_.retire(m); }

bool channel::is_done() const noexcept {
  return members_.everyone_gone() && meetings_.idle() && mailroom_.idle();
}

std::string channel::missing(request const& r) {
  auto const& all = members_.all();
  if (is_send(r.print.kind))
    return fmt::format("{} has not received it (tag {})", all.name_rank(r.peer), r.tag);
  if (is_recv(r.print.kind))
    return fmt::format("no message with tag {} has come from {}", r.tag,
                       r.peer == request::any_peer ? "any rank" : all.name_rank(r.peer));
  auto const ranks = meetings_.missing(r.sequence);
  if (ranks.empty()) return "all ranks have called it, but it is not finished";
  return "not called by " + ranks;
}

}  // namespace hocket::matching
