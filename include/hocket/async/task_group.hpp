// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <hocket/async/work.hpp>
#include <source_location>

namespace hocket {

/// Coroutines that belong together: they end together, and the first error of one cancels the rest.
///
/// Children are cancelled with Asio's terminal cancellation, emitted on their own executor. That
/// executor must be serial, as Asio's cancellation requires: a strand, or a context that one thread
/// runs. Children given to a group on a `thread_pool` each get a strand of their own.
/// No exception of a child leaves the executor's `run()`.
/// Threads: any.
class task_group {
 public:
  /// `ex` is where children run, unless they bring their own executor. Throws
  /// `errc::invalid_argument` if it is empty.
  explicit task_group(boost::asio::any_io_executor ex,
                      std::source_location site = std::source_location::current());
  /// With children alive: cancels them and returns at once; they end later, on their executors, and
  /// must own what they touch. So await `join()` first wherever they refer to this scope.
  ~task_group();
  task_group(task_group const&) = delete;
  task_group& operator=(task_group const&) = delete;

  /// Starts a child. In a cancelled group it is destroyed unstarted; in a joined one whose children
  /// have all ended: `errc::group_closed`.
  void spawn(boost::asio::awaitable<void> child);
  /// ... on an executor of its own.
  void spawn(boost::asio::any_io_executor ex, boost::asio::awaitable<void> child);

  /// Cancels all children, now and to come. That they end with `operation_aborted` is no error
  /// then.
  void cancel();

  /// Done when all children have ended; fails as the first of them that failed, or because its
  /// context was destroyed (`errc::group_closed`). Ending this wait cancels the children: by its
  /// slot, it ends when they have, with `operation_aborted` if none failed otherwise; by its
  /// canceller, at once. Children may spawn others meanwhile. Can be called again.
  [[nodiscard]] work<> join();

  /// How many children have not ended.
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  class state;
  boost::intrusive_ptr<state> state_;
};

}  // namespace hocket
