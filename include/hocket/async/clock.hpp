// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <atomic>
#include <chrono>

namespace hocket {

/// The time that deadlines are measured by. Injected, so that tests can make time pass.
class clock {
 public:
  /// @{
  /// Nanoseconds since an epoch of the clock's own.
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<std::chrono::steady_clock, duration>;
  /// @}

  virtual ~clock() = default;
  /// Never goes back.
  [[nodiscard]] virtual time_point now() const noexcept = 0;

  /// The machine's monotonic clock.
  [[nodiscard]] static clock const& steady() noexcept;
};

/// A clock that stands still until `advance` is called; any thread may read it.
/// A runtime notices the new time in its next `poll()`.
class manual_clock final : public clock {
 public:
  /// The sum of what `advance` was given, from 0.
  [[nodiscard]] time_point now() const noexcept override {
    return time_point(duration(elapsed_.load(std::memory_order_acquire)));
  }
  /// By `d`, which must not be negative.
  void advance(duration d) noexcept { elapsed_.fetch_add(d.count(), std::memory_order_acq_rel); }

 private:
  std::atomic<duration::rep> elapsed_{0};
};

}  // namespace hocket
