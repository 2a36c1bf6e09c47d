// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <hocket/async/clock.hpp>
#include <memory>

namespace hocket {

namespace detail {
class timer_queue;
}

/// Something that moves bytes when it is asked to. Engines and rings are sources; the runtime knows
/// nothing else of them.
class progress_source {
 public:
  virtual ~progress_source() = default;
  /// Does a bounded amount of work; true: there is more. One thread at a time calls it.
  virtual bool progress() noexcept = 0;
};

/// How to make a runtime.
class runtime_options {
 public:
  runtime_options() = default;
  /// The clock of deadlines; it must outlive the runtime. Default: the machine's.
  runtime_options& clock(hocket::clock const& c) {
    clock_ = &c;
    return *this;
  }
  /// False: no thread; somebody calls `poll()`. Default: one progress thread.
  runtime_options& thread(bool wanted) {
    thread_ = wanted;
    return *this;
  }
  [[nodiscard]] hocket::clock const& clock() const noexcept { return *clock_; }
  [[nodiscard]] bool thread() const noexcept { return thread_; }

 private:
  hocket::clock const* clock_ = &hocket::clock::steady();
  bool thread_ = true;
};

/// Owns the progress thread, drives the progress sources and watches the deadlines.
/// One per process by default; tests make their own. Any thread may call.
class runtime {
 public:
  explicit runtime(runtime_options const& options = runtime_options());
  /// Stops the thread. Operations still pending keep their state; their deadlines fall away.
  ~runtime();
  runtime(runtime const&) = delete;
  runtime& operator=(runtime const&) = delete;

  /// The process's runtime, made at first use.
  [[nodiscard]] static runtime& process();

  [[nodiscard]] hocket::clock const& clock() const noexcept;
  [[nodiscard]] bool has_thread() const noexcept;

  /// The source is driven from now on; it must be detached before it dies.
  void attach(progress_source& source);
  /// Returns when no thread is in the source any more.
  void detach(progress_source& source) noexcept;
  /// Says that a source has something to do, or that deadlines changed.
  void wake() noexcept;
  /// One turn on this thread: fires due deadlines, asks each source once. True: there is more.
  /// Does nothing if another thread is at it.
  bool poll();

  [[nodiscard]] detail::timer_queue& timers() noexcept;

 private:
  class core;
  std::shared_ptr<core> core_;
};

}  // namespace hocket
