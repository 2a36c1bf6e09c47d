// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <hocket/async/clock.hpp>
#include <hocket/async/event.hpp>
#include <hocket/async/stream.hpp>
#include <optional>
#include <stop_token>
#include <utility>

namespace hocket {

/// What else a missed deadline ends. The wait ends with `errc::timed_out` in any case.
enum class expiry : std::uint8_t {
  abandon,  ///< nothing: this rank still takes part, the group goes on
  revoke,   ///< the group, for all its members, as `process_group::revoke` does
};

/// What a call may ask of one operation. A class with a constructor, so that a temporary of it is
/// safe inside a co_await expression on every compiler: `op_options().deadline(500ms).tag(7)`.
class op_options {
 public:
  op_options() = default;

  /// At most `d` from the call, on the runtime's clock; then waits end with `errc::timed_out`.
  /// Zero: only if it is ready at once. Default: the group's.
  op_options& deadline(clock::duration d) {
    deadline_ = d;
    return *this;
  }
  /// No deadline for this operation.
  op_options& no_deadline() {
    deadline_ = clock::duration::max();
    return *this;
  }
  /// At most `d` from the first sign of any peer: from when one has called the operation, too, or
  /// is matched with a message. For servers that idle. Without a `deadline` of its own the
  /// operation may wait for that sign for ever, whatever the group's deadline is; with one,
  /// whichever passes first counts. Default: the group's, where the operation names no deadline.
  op_options& deadline_from_arrival(clock::duration d) {
    deadline_from_arrival_ = d;
    return *this;
  }
  /// Default: the group's.
  op_options& on_expiry(expiry e) {
    on_expiry_ = e;
    return *this;
  }
  /// The operation touches its buffers only after the mark.
  op_options& after(event mark) {
    after_ = std::move(mark);
    return *this;
  }
  /// ... only after everything enqueued on the stream so far.
  op_options& after(stream& s) { return after(s.record()); }
  /// Point-to-point messages match by tag.
  op_options& tag(std::uint64_t t) {
    tag_ = t;
    return *this;
  }
  /// Cancels the operation's waits when the source of the token is asked to stop.
  op_options& stop(std::stop_token token) {
    stop_ = std::move(token);
    return *this;
  }

  /// Empty: the group's. `clock::duration::max()`: none.
  [[nodiscard]] std::optional<clock::duration> const& deadline() const noexcept {
    return deadline_;
  }
  /// Of this operation, from the first sign of a peer.
  [[nodiscard]] std::optional<clock::duration> const& deadline_from_arrival() const noexcept {
    return deadline_from_arrival_;
  }
  /// What happens to the group at the deadline; empty: what the group says.
  [[nodiscard]] std::optional<expiry> const& on_expiry() const noexcept { return on_expiry_; }
  /// Empty if there is nothing to wait for.
  [[nodiscard]] event const& after() const noexcept { return after_; }
  /// 0 unless one was given.
  [[nodiscard]] std::uint64_t tag() const noexcept { return tag_; }
  /// Without a source unless one was given.
  [[nodiscard]] std::stop_token const& stop() const noexcept { return stop_; }

 private:
  std::optional<clock::duration> deadline_;
  std::optional<clock::duration> deadline_from_arrival_;
  std::optional<expiry> on_expiry_;
  event after_;
  std::uint64_t tag_ = 0;
  std::stop_token stop_;
};

}  // namespace hocket
