// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <coroutine>
#include <exception>
#include <hocket/async/canceller.hpp>
#include <hocket/async/clock.hpp>
#include <hocket/async/detail/awaitable_compat.hpp>
#include <hocket/async/detail/deliver.hpp>
#include <hocket/async/detail/op_state.hpp>
#include <hocket/op_info.hpp>
#include <utility>

namespace hocket {

class stream;
template <class T = void>
class work;

namespace detail {

[[nodiscard]] work<void> posted(op_base* op);
[[nodiscard]] work<void> released(op_base* op);
void order_after(stream& s, op_ref op);
void block_until_settled(op_base* op, clock::duration limit);
op_info const& no_info() noexcept;

/// `co_await` from a coroutine type without an await_transform; resumes on the group's executor.
/// A suspended frame may be destroyed on that executor; if its context dies it is never resumed.
template <class T>
class native_awaiter {
 public:
  explicit native_awaiter(op_ptr<T> op) noexcept : op_(std::move(op)) {}
  native_awaiter(native_awaiter const&) = delete;
  native_awaiter& operator=(native_awaiter const&) = delete;
  ~native_awaiter() {
    if (waiter_ == nullptr) return;  // destroyed while suspended
    op_->forget(waiter_);
    waiter_->home->drop(waiter_);
    op_->free_waiter(waiter_);
  }

  [[nodiscard]] bool await_ready() const noexcept { return !op_ || op_->settled(); }
  void await_suspend(std::coroutine_handle<> frame) {
    frame_ = frame;
    op_base* const op = op_.get();
    waiter* const w = waiter_ = op->make_waiter();
    w->home = op->home() != nullptr ? op->home() : system_port().get();
    w->run = &run;
    *reinterpret_cast<native_awaiter**>(w->buffer) = this;
    if (!op->enter(w)) w->run(w, false);  // past enter() another thread may have destroyed *this
  }
  T await_resume() {
    if (!op_) std::rethrow_exception(empty_handle().exception);
    if (op_->failed()) std::rethrow_exception(op_->why().exception);
    if constexpr (std::is_void_v<T>) {
      static_cast<void>(op_->take());
    } else {
      return op_->take();
    }
  }

 private:
  static void run(waiter* w, bool invoke) {
    auto* const self = *reinterpret_cast<native_awaiter**>(w->buffer);
    self->waiter_ = nullptr;
    self->op_->free_waiter(w);
    if (invoke) self->frame_.resume();
  }

  op_ptr<T> op_;
  waiter* waiter_ = nullptr;
  std::coroutine_handle<> frame_;
};

}  // namespace detail

/// A handle on an operation that has already started: copyable, detached when dropped.
///
/// Every waiter gets its own T (a tensor is another reference). Waiting does not move the
/// operation and not waiting does not stop it. A moved-from handle gives `errc::invalid_argument`.
/// Errors reach a waiter as `hocket::error`, or as an `error_code` through `async_wait`.
/// Threads: one object from one thread at a time; copies from any thread.
template <class T>
class work {
 public:
  /// Where handlers without an executor of their own run.
  using executor_type = boost::asio::any_io_executor;
  /// What waiting for it gives.
  using value_type = T;

  work() noexcept = default;
  /// @cond
  explicit work(detail::op_ptr<T> op) noexcept : op_(std::move(op)) {}
  /// @endcond

  /// Waits with any completion token of signature `void(std::exception_ptr, T)`; this is what
  /// `co_await std::move(w)` uses in `asio::awaitable`. `&&` consumes the handle.
  template <boost::asio::completion_token_for<detail::signature_t<std::exception_ptr, T>> Token>
  auto operator()(Token&& token) && {
    return boost::asio::async_initiate<Token, detail::signature_t<std::exception_ptr, T>>(
        detail::initiate<std::exception_ptr, T>(std::move(op_)), token);
  }
  /// The same for a handle that is kept: each wait gets a copy of the result.
  template <boost::asio::completion_token_for<detail::signature_t<std::exception_ptr, T>> Token>
  auto operator()(Token&& token) const& {
    return work(*this)(std::forward<Token>(token));
  }

  /// The conventional Asio face: `void(error_code, T)`; never completes inside the initiation.
  template <
      boost::asio::completion_token_for<detail::signature_t<boost::system::error_code, T>> Token>
  auto async_wait(Token&& token) const {
    return boost::asio::async_initiate<Token, detail::signature_t<boost::system::error_code, T>>(
        detail::initiate<boost::system::error_code, T>(op_), token);
  }

  /// @{
  /// For coroutine types other than Asio's: gives the result or throws. A handle that is ready does
  /// not suspend; else the coroutine resumes on the group's executor.
  detail::native_awaiter<T> operator co_await() && {
    return detail::native_awaiter<T>(std::move(op_));
  }
  detail::native_awaiter<T> operator co_await() const& { return detail::native_awaiter<T>(op_); }
  /// @}

  /// Orders the stream after the operation; the host returns at once. Follows the operation itself:
  /// an ended wait does not let the stream pass. If it fails the stream's later marks fail, too.
  void wait_on(stream& s) const { detail::order_after(s, detail::op_ref(op_.get())); }

  /// Done when the operation has been accepted into its channel's window (the back-pressure point).
  [[nodiscard]] work<void> posted() const { return detail::posted(op_.get()); }

  /// Done when the operation has let go of every buffer, whatever became of the wait.
  [[nodiscard]] work<void> released() const { return detail::released(op_.get()); }

  /// True when a wait would not sleep: a result, an error or a cancellation is known.
  [[nodiscard]] bool ready() const noexcept { return !op_ || op_->settled(); }
  /// False for a default-made or moved-from handle.
  [[nodiscard]] bool valid() const noexcept { return op_ != nullptr; }

  /// Which operation it is, for messages; an empty one without an operation.
  [[nodiscard]] op_info const& info() const noexcept {
    return op_ ? op_->info() : detail::no_info();
  }
  /// To end the waits from elsewhere.
  [[nodiscard]] canceller get_canceller() const noexcept { return canceller(op_.get()); }

  /// Blocks this thread until the result, at most `limit`; runs no handler. Meanwhile it drives the
  /// operation's runtime if that has no thread. `errc::would_block` on a thread that runs the
  /// group's executor, `errc::timed_out` past the limit (the operation goes on).
  T get(clock::duration limit) const {
    detail::block_until_settled(op_.get(), limit);
    return detail::native_awaiter<T>(op_).await_resume();
  }

  /// The group's executor, where handlers without one of their own run.
  [[nodiscard]] executor_type get_executor() const noexcept {
    return detail::executor_of(op_ ? op_->home() : nullptr);
  }

  /// @cond
  [[nodiscard]] detail::op_ptr<T> const& state() const noexcept { return op_; }
  /// @endcond

 private:
  detail::op_ptr<T> op_;
};

}  // namespace hocket
