// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/circular_buffer.hpp>
#include <cstdint>
#include <exception>
#include <functional>
#include <hocket/group/detail/first_sequence.hpp>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "decisions.hpp"
#include "meeting.hpp"
#include "roster.hpp"

namespace hocket::matching {

/// The collectives of one channel, by their numbers. All calls under the hub's lock.
class meetings {
 public:
  explicit meetings(attendance const& members);

  /// The request takes its part. A meeting that has become complete is left in `d`.
  void meet(request& r, decisions& d);
  /// The buffers of `r` may be touched from now on; or never, because of `e`.
  void buffers_ready(request& r, std::exception_ptr const& e, decisions& d);
  /// The waits of a monitored barrier were ended: it is over, for everybody.
  void give_up(request& r, decisions& d);
  /// The same of another member, which says so.
  void give_up(int rank, std::uint64_t sequence, bool late, decisions& d);
  /// Adds a line for each call of the member that waits for others.
  void pending(int rank, std::vector<std::string>& lines);
  void member_left(int rank, decisions& d);
  /// Ends everything that does not run yet.
  void end_all(std::function<detail::failure(request const&)> const& why, decisions& d);
  /// A meeting has been carried out.
  [[nodiscard]] std::unique_ptr<meeting> retire(meeting& m) noexcept;

  /// Set once members called different operations: why calls after that one fail.
  [[nodiscard]] detail::failure const& out_of_step() const noexcept { return out_of_step_; }
  /// Whether the request comes after the point where the members went out of step, to a place
  /// where nothing has met.
  [[nodiscard]] bool is_too_late(request const& r) noexcept;
  /// Whether the member's call of that number can still come, and is near enough to be believed.
  [[nodiscard]] bool can_meet(request const& r) const noexcept;
  /// "rank 2, rank 4": who has not come; empty if all have.
  [[nodiscard]] std::string missing(std::uint64_t sequence) noexcept;
  /// Nothing waits or runs.
  [[nodiscard]] bool idle() const noexcept { return slots_.empty(); }

 private:
  struct slot {
    std::unique_ptr<meeting> m;
    bool over = false;
  };
  meeting& at(std::uint64_t sequence);
  [[nodiscard]] meeting* find(std::uint64_t sequence) noexcept;
  void judge(meeting& m, request& r, decisions& d);
  void desynchronise(meeting const& m, decisions& d);
  void announce(meeting& m, decisions& d);
  void settle(meeting& m, decisions& d);
  void end_parts(meeting& m, decisions& d);
  [[nodiscard]] bool is_expected(meeting const& m, int rank) const noexcept;
  void mark_over(std::uint64_t sequence) noexcept;
  void trim() noexcept;

  attendance const& members_;
  std::uint64_t base_ = detail::first_sequence;  // number of the first slot
  boost::circular_buffer<slot> slots_;
  detail::failure out_of_step_;
  std::uint64_t last_in_step_ = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace hocket::matching
