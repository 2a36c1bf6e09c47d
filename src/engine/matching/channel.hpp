// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "decisions.hpp"
#include "mailroom.hpp"
#include "meetings.hpp"
#include "roster.hpp"

namespace hocket::matching {

/// One channel of a group: an own sequence space. All calls under the hub's lock.
class channel {
 public:
  channel(roster const& members, std::uint64_t id);
  channel(channel const&) = delete;
  channel& operator=(channel const&) = delete;

  void submit(request& r, decisions& d);
  /// The waits of the request were ended.
  void withdraw(request& r, decisions& d);
  /// Another member does not wait at that monitored barrier any more.
  void give_up(int rank, std::uint64_t sequence, bool late, decisions& d) {
    meetings_.give_up(rank, sequence, late, d);
  }
  /// Adds a line for each call of the member that waits.
  void pending(int rank, std::vector<std::string>& lines);
  void buffers_ready(request& r, std::exception_ptr const& e, decisions& d);
  void close(int rank, decisions& d);
  /// The member has left the group.
  void member_left(int rank, decisions& d);
  void end_all(std::function<detail::failure(request const&)> const& why, decisions& d);
  [[nodiscard]] std::unique_ptr<meeting> retire(meeting& m) noexcept;

  [[nodiscard]] bool has_closed(int rank) const noexcept { return members_.has_closed(rank); }
  /// Nobody comes any more and nothing is under way: it can be dropped.
  [[nodiscard]] bool is_done() const noexcept;
  /// Whether the announced collective can be the member's call of that number.
  [[nodiscard]] bool can_meet(request const& r) const noexcept { return meetings_.can_meet(r); }
  /// Whom or what the request waits for.
  [[nodiscard]] std::string missing(request const& r);

  std::uint64_t const id;

 private:
  attendance members_;
  meetings meetings_;
  mailroom mailroom_;
};

/// The mark that a request was to wait for has failed: it cannot take part.
void fail_for_mark(request& r, std::exception_ptr const& e);

[[nodiscard]] constexpr bool is_message(op_kind k) noexcept { return is_send(k) || is_recv(k); }

}  // namespace hocket::matching
