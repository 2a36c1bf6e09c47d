// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <atomic>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <hocket/async/detail/port.hpp>
#include <hocket/async/detail/timer.hpp>
#include <hocket/detail/block_pool.hpp>
#include <hocket/detail/hook.hpp>
#include <hocket/detail/spin_lock.hpp>
#include <hocket/op_info.hpp>
#include <memory>
#include <string>

namespace hocket::detail {

class op_base;
struct op_hook : hook {};
struct port_hook : hook {};

/// One wait: an erased completion handler, or a suspended coroutine. Claimed by unlinking it from
/// its op under the op's lock: whoever unlinks it decides its outcome, once.
struct waiter : op_hook, port_hook {
  static constexpr std::size_t room = 64;

  op_base* op = nullptr;
  port* home = nullptr;
  void (*run)(waiter*, bool invoke) = nullptr;  // frees the waiter first; !invoke: destroys only
  std::uint32_t id = 0;
  bool in_place = false;
  bool aborted = false;  // this wait alone was cancelled, by its slot
  alignas(16) std::byte buffer[room];
};

/// The points of an op's life that a continuation can follow.
enum class point : std::uint8_t { posted, settled, finished };

/// A call made by the thread that brings the op to a point, under no lock. Its owner keeps it alive
/// until it has run or was withdrawn; it must be short and must not throw.
struct continuation {
  void (*run)(continuation*) noexcept = nullptr;
  continuation* next = nullptr;
  point at = point::settled;
};

/// What the waits of an op are told. Decided once, and remembered for later waits.
enum class verdict : std::uint8_t { pending, done, aborted, expired };

/// Why an op failed: a code for `void(error_code, T)`, an exception for everything else. With a
/// code alone the exception is made when somebody asks for it.
struct failure {
  boost::system::error_code code;
  std::exception_ptr exception;
};

/// Makes the failure whose exception tells `story`.
[[nodiscard]] failure make_failure(boost::system::error_code code, std::string story);

/// The failure that carries an exception; its code if it has one.
[[nodiscard]] failure failure_from(std::exception_ptr e);

/// The error of an empty handle.
[[nodiscard]] failure empty_handle();

/// The shared state behind a handle: waits, verdict, deadline. Two ends:
/// * *settled*: the verdict for waits is known (result, cancel or deadline);
/// * *finished*: the engine has let go of every buffer. Finishing settles what is still pending.
/// Counting: strong references (handles, waiters, the engine) keep the result, weak ones
/// (cancellers, slots) only the memory.
class op_base : public pooled, private timer {
 public:
  explicit op_base(port_ptr home) noexcept : home_(std::move(home)) {}
  op_base(op_base const&) = delete;
  op_base& operator=(op_base const&) = delete;
  virtual ~op_base() = default;

  // -- what it is
  [[nodiscard]] op_info const& info() const noexcept { return info_; }
  op_info& mutable_info() noexcept { return info_; }  // before the op is shared
  /// Where handlers without an executor of their own are delivered; null: on the system's threads.
  [[nodiscard]] port* home() const noexcept { return home_.get(); }

  // -- verdict
  [[nodiscard]] verdict state() const noexcept { return verdict_.load(std::memory_order_acquire); }
  [[nodiscard]] bool settled() const noexcept { return state() != verdict::pending; }
  [[nodiscard]] bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }
  /// The verdict as the engine must see it while it withdraws: known before waits are told.
  [[nodiscard]] verdict decided() const noexcept {
    auto const v = state();
    return v == verdict::pending ? held_.load(std::memory_order_acquire) : v;
  }
  /// Once settled: whether waits fail, with which code, and the whole story.
  [[nodiscard]] bool failed() const noexcept { return state() == verdict::aborted || failure_; }
  [[nodiscard]] boost::system::error_code code() const noexcept;
  [[nodiscard]] failure why() const;
  /// Whether anybody has asked for the code or the story of the failure.
  [[nodiscard]] bool was_told() const noexcept { return told_.load(std::memory_order_relaxed); }

  /// Ends all waits, present and future, with `operation_aborted`; no effect once settled.
  void abort();
  /// Ends all waits with the deadline's story; no effect once settled.
  void expire();
  /// What an Asio slot does to a wait: ends this one only.
  virtual void slot_emitted(waiter* w, std::uint32_t id) { abort_one(w, id); }
  /// For a thread that blocks in `get()`: one bounded turn of whatever moves this op.
  /// False: something else moves it, so the thread sleeps.
  [[nodiscard]] virtual bool drive() { return false; }
  /// Accepted into its channel's window. Ops start posted unless `begin_unposted` was called.
  void mark_posted() noexcept;
  void begin_unposted() noexcept { posted_ = false; }
  /// Tells the waits the outcome before `finish()`: for ops whose result is known while buffers are
  /// still held.
  void conclude(failure f) { end_waits(verdict::done, std::move(f)); }
  /// The engine's last word: the result is stored, or `f` says why not. Called once.
  void finish(failure f = {});

  // -- waits
  [[nodiscard]] waiter* make_waiter();
  void free_waiter(waiter* w) noexcept;
  /// Gives the waiter a number, so that a late cancellation cannot hit its successor in the memory.
  void number(waiter* w) noexcept;
  /// Links the waiter, or queues it when the op is settled. False: its context is shut down.
  bool enter(waiter* w);
  void abort_one(waiter* w, std::uint32_t id);
  void forget(waiter* w) noexcept;

  // -- continuations: run once the point is reached, at once if it was
  void when_posted(continuation& c) noexcept { follow(c, point::posted); }
  void when_settled(continuation& c) noexcept { follow(c, point::settled); }
  void when_finished(continuation& c) noexcept { follow(c, point::finished); }
  /// Takes a continuation back. False: it has run, or another thread is running it.
  [[nodiscard]] bool withdraw(continuation& c) noexcept;
  /// The engine's failure, once finished, even where a wait was told something else before.
  [[nodiscard]] std::exception_ptr const& engine_failure() const noexcept {
    return engine_failure_;
  }
  /// A wait that ends early is told so only when the buffers are free: for borrowed memory without
  /// an owner. Before the op is shared.
  void hold_waits_until_finished() noexcept { hold_waits_ = true; }

  // -- deadline
  timer& deadline() noexcept { return *this; }
  static op_base& of(timer& t) noexcept { return static_cast<op_base&>(t); }

  // -- counts
  [[nodiscard]] bool alone() const noexcept {
    return counts_.load(std::memory_order_acquire) == (1 | one_weak);
  }
  [[nodiscard]] bool lock_strong() noexcept;
  void weak_add() noexcept { counts_.fetch_add(one_weak, std::memory_order_relaxed); }
  void weak_release() noexcept;
  friend void intrusive_ptr_add_ref(op_base* o) noexcept {
    o->counts_.fetch_add(1, std::memory_order_relaxed);
  }
  friend void intrusive_ptr_release(op_base* o) noexcept { o->release(); }

 protected:
  /// The last strong reference is gone: drops result and inputs; the memory may live on.
  virtual void drop_value() noexcept = 0;
  /// The waits are about to be told that they ended before the result: a receive that is not
  /// matched yet is withdrawn. May finish the op.
  virtual void waits_ended() noexcept {}
  /// Who is missing, for the deadline's story.
  [[nodiscard]] virtual std::string expiry_story() { return "the deadline passed"; }

 private:
  static constexpr std::uint64_t one_weak = 1ull << 32;

  [[nodiscard]] bool reached(point p) const noexcept;
  [[nodiscard]] continuation* take(point p) noexcept;
  void follow(continuation& c, point p) noexcept;
  void release() noexcept;
  void end_waits(verdict v, failure f);
  void tell(continuation* after);
  void wake_waiters();
  bool claim(waiter* w) noexcept;

  std::atomic<std::uint64_t> counts_{1 | one_weak};  // all strong ones together hold one weak
  spin_lock lock_;
  std::atomic<verdict> verdict_{verdict::pending};
  std::atomic<bool> finished_{false};
  mutable std::atomic<bool> told_{false};
  std::atomic<bool> in_place_used_{false};
  bool hold_waits_ = false;
  bool posted_ = true;
  std::atomic<verdict> held_{verdict::pending};
  std::uint32_t next_id_ = 0;
  hook waiters_;
  std::unique_ptr<failure> failure_;  // set before the verdict, then constant
  std::exception_ptr engine_failure_;
  port_ptr home_;
  continuation* followers_ = nullptr;  // newest first
  op_info info_;
  waiter first_;
};

using op_ref = boost::intrusive_ptr<op_base>;

/// Keeps an op's memory, not its result.
class weak_op {
 public:
  explicit weak_op(op_base* op) noexcept : op_(op) { op_->weak_add(); }
  weak_op(weak_op const&) = delete;
  weak_op& operator=(weak_op const&) = delete;
  ~weak_op() { op_->weak_release(); }
  /// `op_base::drive`, while the op is held by somebody.
  [[nodiscard]] bool drive() const {
    if (!op_->lock_strong()) return false;
    op_ref const keep(op_, false);
    return keep->drive();
  }

 private:
  op_base* const op_;
};

}  // namespace hocket::detail
