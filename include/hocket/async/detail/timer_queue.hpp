// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <atomic>
#include <boost/intrusive/set.hpp>
#include <functional>
#include <hocket/async/detail/op_base.hpp>
#include <mutex>
#include <optional>

namespace hocket::detail {

/// The deadlines of a runtime's pending ops. Any thread. An op is listed only while it is pending,
/// so an idle runtime has an empty queue.
class timer_queue {
 public:
  /// `wake` is called, under no lock, when a new deadline is the earliest.
  explicit timer_queue(std::function<void()> wake) : wake_(std::move(wake)) {}

  void add(op_base& op, clock::time_point when);
  /// Moves a listed op to an earlier time. False: it is due by then already, or is not listed.
  bool advance(op_base& op, clock::time_point when);
  void remove(timer& t) noexcept;
  [[nodiscard]] std::optional<clock::time_point> next() const;
  /// Takes out one op whose deadline has come, or null.
  [[nodiscard]] op_ref pop_due(clock::time_point now);
  /// The runtime is gone: forgets all deadlines, takes no more.
  void close() noexcept;
  [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

  friend void intrusive_ptr_add_ref(timer_queue* q) noexcept;
  friend void intrusive_ptr_release(timer_queue* q) noexcept;

 private:
  mutable std::mutex mutex_;
  boost::intrusive::multiset<timer> timers_;
  std::atomic<bool> closed_{false};
  std::function<void()> wake_;
  std::atomic<int> refs_{0};
};

}  // namespace hocket::detail
