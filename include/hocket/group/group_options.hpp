// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <hocket/async/op_options.hpp>
#include <hocket/error.hpp>
#include <hocket/group/object_limits.hpp>
#include <optional>
#include <string>
#include <utility>

namespace hocket {

/// How to make a group.
class group_options {
 public:
  group_options() = default;

  /// A name that all members give alike. Default: made from the list of members and how many times
  /// this rank has made a group of that list before.
  group_options& name(std::string n) {
    name_ = std::move(n);
    return *this;
  }
  /// Where handlers without an executor of their own run; never empty. Default: the world's
  /// executor. Of a strand it is the context behind it: a handler that needs the strand is bound to
  /// it, as the coroutines that were spawned on it are.
  group_options& executor(boost::asio::any_io_executor ex) {
    executor_ = std::move(ex);
    return *this;
  }
  /// How long the making of the group, and then each of its operations, may take unless the
  /// operation says otherwise. Default: 30 minutes.
  group_options& deadline(clock::duration d) {
    deadline_ = d;
    return *this;
  }

  /// The deadline from the first sign of a peer for operations that name no deadline; they have
  /// no other then. Default: none.
  group_options& deadline_from_arrival(clock::duration d) {
    deadline_from_arrival_ = d;
    return *this;
  }
  /// What a missed deadline ends besides the wait, unless the operation says otherwise.
  /// Default: nothing.
  group_options& on_expiry(expiry e) {
    on_expiry_ = e;
    return *this;
  }
  /// How large the objects of this group's operations may be, where they are sent and where they
  /// are read; larger ones are `errc::too_large`. Default: 1 GiB, 64 levels.
  group_options& objects(object_limits const& limits) {
    objects_ = limits;
    return *this;
  }

  /// How many operations and bytes of one channel may be under way on this rank before
  /// `posted()` holds callers back; past twice that a call is `errc::queue_full`.
  /// Default: 1,024 operations, 256 MiB.
  group_options& window(std::size_t ops, std::uint64_t bytes) {
    window_ops_ = ops;
    window_bytes_ = bytes;
    return *this;
  }
  /// Called with failures of operations that nobody waited for, when their last handle is gone; on
  /// any thread: it must be short and should not call the group. Default: a warning in the log.
  group_options& failure_handler(std::function<void(error const&)> handler) {
    failure_handler_ = std::move(handler);
    return *this;
  }

  /// Empty: the group is named by its members.
  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  /// Empty: the world's.
  [[nodiscard]] std::optional<boost::asio::any_io_executor> const& executor() const noexcept {
    return executor_;
  }
  /// Of joining, and of operations that do not name one; `clock::duration::max()`: none.
  [[nodiscard]] clock::duration deadline() const noexcept { return deadline_; }
  /// The same from the first sign of a peer; empty: none.
  [[nodiscard]] std::optional<clock::duration> const& deadline_from_arrival() const noexcept {
    return deadline_from_arrival_;
  }
  /// What a missed deadline does to the group.
  [[nodiscard]] expiry on_expiry() const noexcept { return on_expiry_; }
  /// Of the objects that this member sends and reads.
  [[nodiscard]] object_limits const& objects() const noexcept { return objects_; }
  /// @{
  /// What a channel accepts before its calls have to wait; twice as much is `errc::queue_full`.
  [[nodiscard]] std::size_t window_ops() const noexcept { return window_ops_; }
  [[nodiscard]] std::uint64_t window_bytes() const noexcept { return window_bytes_; }
  /// @}
  /// Empty if nobody is to be told.
  [[nodiscard]] std::function<void(error const&)> const& failure_handler() const noexcept {
    return failure_handler_;
  }

 private:
  std::string name_;
  std::optional<boost::asio::any_io_executor> executor_;
  clock::duration deadline_ = std::chrono::minutes(30);
  std::optional<clock::duration> deadline_from_arrival_;
  expiry on_expiry_ = expiry::abandon;
  object_limits objects_;
  std::size_t window_ops_ = 1024;
  std::uint64_t window_bytes_ = std::uint64_t{256} << 20;
  std::function<void(error const&)> failure_handler_;
};

}  // namespace hocket
