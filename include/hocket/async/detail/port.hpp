// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstddef>
#include <hocket/detail/hook.hpp>
#include <hocket/detail/spin_lock.hpp>
#include <mutex>
#include <type_traits>

namespace hocket::detail {

struct waiter;

/// All deliveries of one execution context: handlers whose executor equals the context's own are
/// called directly from one posted drain, others are dispatched. It lists every waiter whose
/// handler lives in the context, so that a dying context destroys exactly its own handlers and the
/// operations finish detached.
/// Lock order: an op's lock, then a port's.
class port {
 public:
  /// `timed`: a turn ends also after some time, not only after so many handlers.
  port(boost::asio::any_io_executor ex, bool timed);
  virtual ~port() = default;
  port(port const&) = delete;
  port& operator=(port const&) = delete;

  [[nodiscard]] boost::asio::any_io_executor const& executor() const noexcept { return executor_; }
  [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

  /// True if a handler with this executor may be called straight from the drain.
  template <class Ex>
  [[nodiscard]] bool same(Ex const& ex) const noexcept {
    if (closed()) return false;  // a new context may have the address of a dead one
    if constexpr (std::is_same_v<Ex, boost::asio::any_io_executor>) {
      return ex == executor_;
    } else {
      auto const* mine = executor_.template target<Ex>();
      return mine != nullptr && *mine == ex;
    }
  }

  /// Lists a waiter, under its op's lock. False: the context is shut down.
  bool add(waiter* w) noexcept;
  /// Queues a listed waiter whose op is decided. True: call `kick()` after releasing the op's lock.
  bool enqueue(waiter* w) noexcept;
  /// Posts the drain. It may be a system call, so no lock is held.
  void kick();
  /// Unlists a waiter whose coroutine was destroyed while it waited.
  void drop(waiter* w) noexcept;
  /// The context is going away: destroys all handlers, lets the operations finish detached.
  void close() noexcept;

  friend void intrusive_ptr_add_ref(port* p) noexcept {
    p->refs_.fetch_add(1, std::memory_order_relaxed);
  }
  friend void intrusive_ptr_release(port* p) noexcept {
    if (p->refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete p;
  }

  /// Called by the posted drain only.
  void run_drain();

 protected:
  virtual void post_drain() = 0;
  /// Outstanding work of the context while anything waits here.
  virtual void hold(bool on) noexcept = 0;

 private:
  void post_next(std::unique_lock<spin_lock>& lock);

  boost::asio::any_io_executor const executor_;
  spin_lock lock_;
  hook pending_, ready_;
  std::size_t count_ = 0;
  bool posted_ = false;  // a turn is in the context's queue
  bool const timed_;
  std::atomic<bool> closed_{false};
  std::atomic<int> posting_{0};
  std::atomic<int> refs_{0};
};

using port_ptr = boost::intrusive_ptr<port>;

/// The port of the context behind an executor; strands are unwrapped. Null for an empty executor.
[[nodiscard]] port_ptr port_of(boost::asio::any_io_executor const& ex);

/// The port of the system's threads, which start with its first use.
[[nodiscard]] port_ptr const& system_port();

/// True for executors of the system context; found out without starting its threads.
[[nodiscard]] bool is_system(boost::asio::any_io_executor const& ex) noexcept;

/// Whether this thread runs the port's executor now; false also where that cannot be found out.
[[nodiscard]] bool runs_here(port const* home) noexcept;

/// Where a handler without an executor of its own runs: on the port's context, on the system's
/// threads for a null port, nowhere for a closed one (such a handler is destroyed uncalled).
[[nodiscard]] boost::asio::any_io_executor executor_of(port const* home);
[[nodiscard]] bool is_dead_end(boost::asio::any_io_executor const& ex) noexcept;

}  // namespace hocket::detail
