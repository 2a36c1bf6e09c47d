// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <hocket/async/clock.hpp>
#include <memory>

namespace hocket {

namespace detail {
class op_base;
class runtime_core;
class timer_queue;

/// Whether the calling thread is the progress thread of a runtime.
[[nodiscard]] bool on_progress_thread() noexcept;
}  // namespace detail

/// Something that moves bytes when it is asked to. Engines and rings are sources; the runtime knows
/// nothing else of them.
class progress_source {
 public:
  virtual ~progress_source() = default;
  /// Does a bounded amount of work; true: there is more. One thread at a time calls it.
  virtual bool progress() noexcept = 0;
  /// A descriptor that is readable while the source has something to do, so that the progress
  /// thread can sleep; -1: there is none, the source says so by `runtime_handle::wake`.
  [[nodiscard]] virtual int wake_fd() const noexcept { return -1; }
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
  /// @{
  /// What was set, or its default.
  [[nodiscard]] hocket::clock const& clock() const noexcept { return *clock_; }
  [[nodiscard]] bool thread() const noexcept { return thread_; }
  /// @}

 private:
  hocket::clock const* clock_ = &hocket::clock::steady();
  bool thread_ = true;
};

/// A runtime as groups and engines hold it: valid even after the runtime is gone, when it has no
/// thread and no deadlines any more. Copyable; any thread may call.
class runtime_handle {
 public:
  /// @cond
  explicit runtime_handle(std::shared_ptr<detail::runtime_core> c) noexcept : core_(std::move(c)) {}
  /// @endcond

  /// True while a thread drives the sources: then work may be left to it.
  [[nodiscard]] bool has_thread() const noexcept;
  /// The source is driven from now on; it must be detached before it dies.
  void attach(progress_source& source) const;
  /// Returns when no other thread is in the source any more.
  void detach(progress_source& source) const noexcept;
  /// Says that a source has something to do.
  void wake() const noexcept;
  /// For a thread that blocks until something has happened: one turn, as `runtime::poll`, if no
  /// thread drives the sources. False: a thread does, or the runtime is gone; so sleep.
  [[nodiscard]] bool drive() const noexcept;
  /// The op expires `limit` from now, unless it is settled before. Call before the op is shared.
  /// The longest duration: not before `advance` says when.
  void arm(detail::op_base& op, clock::duration limit) const;
  /// An armed op expires `limit` from now. False: it would have sooner, or is settled.
  bool advance(detail::op_base& op, clock::duration limit) const;

 private:
  std::shared_ptr<detail::runtime_core> core_;
};

/// Owns the progress thread, drives the progress sources and watches the deadlines.
/// One per process by default; tests make their own. Any thread may call.
class runtime {
 public:
  /// Starts its thread unless the options say otherwise.
  explicit runtime(runtime_options const& options = runtime_options());
  /// Stops the thread. Operations still pending keep their state; their deadlines fall away.
  ~runtime();
  runtime(runtime const&) = delete;
  runtime& operator=(runtime const&) = delete;

  /// The process's runtime, made at first use.
  [[nodiscard]] static runtime& process();

  /// What the deadlines of its operations are measured by.
  [[nodiscard]] hocket::clock const& clock() const noexcept;
  /// What groups and engines hold on to.
  [[nodiscard]] runtime_handle handle() const noexcept { return runtime_handle(core_); }
  /// @cond
  [[nodiscard]] detail::timer_queue& timers() noexcept;
  // From here on to `end_loop` the caller's loop drives the sources by `poll_from_loop`; the thread
  // takes over again where that is not called for a while.
  void begin_loop() noexcept;
  void end_loop() noexcept;
  bool poll_from_loop();
  /// @endcond
  /// One turn on this thread: fires due deadlines, asks each source once. True: there is more.
  /// Does nothing if another thread is at it.
  bool poll();

 private:
  std::shared_ptr<detail::runtime_core> core_;
};

}  // namespace hocket
