// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/async/work.hpp>
#include <hocket/detail/assert.hpp>
#include <memory>
#include <string>
#include <utility>

namespace hocket {

/// The completing side of a `work<T>` that is not a collective: set once, from any thread.
/// Dropped unset, its waits fail with `errc::group_closed`.
template <class T = void>
class promise {
 public:
  /// `ex` is where handlers without an executor of their own run.
  explicit promise(boost::asio::any_io_executor const& ex,
                   std::source_location site = std::source_location::current())
      : promise(detail::port_of(ex), site) {}
  /// @cond
  explicit promise(detail::port_ptr home,
                   std::source_location site = std::source_location::current())
      : op_(new detail::value_state<T>(std::move(home)), false) {
    op_->mutable_info().site = site;
    op_->mutable_info().operation = "promise";
  }
  /// @endcond
  /// What it is moved from may only be destroyed.
  promise(promise&&) noexcept = default;
  promise& operator=(promise&&) = delete;
  ~promise() {
    if (op_) fail(errc::group_closed, "dropped before its result was set");
  }

  /// Any number of times until it is set, from one thread at a time.
  [[nodiscard]] work<T> get_work() const { return work<T>(op_); }
  /// Once, and not after `fail`.
  void set(detail::value_of<T> v = {}) {
    auto const op = take();
    op->store(std::move(v));
    op->finish();
  }
  /// The code of the exception is what an `error_code` waiter gets; without one, `peer_failed`.
  void fail(std::exception_ptr e) {
    auto const op = take();
    op->finish(detail::failure_from(std::move(e)));
  }
  /// Likewise, with the name of the operation before the story.
  void fail(errc code, std::string const& story) {
    auto const op = take();
    op->finish(detail::make_failure(make_error_code(code), to_string(op->info()) + ": " + story));
  }

 private:
  using state = boost::intrusive_ptr<detail::value_state<T>>;
  state take() noexcept {
    HOCKET_ASSERT(op_ != nullptr);
    return std::exchange(op_, nullptr);
  }

  state op_;
};

/// A handle whose result is already known. With a null `home`, handlers without an executor of
/// their own run on the system's threads.
template <class T>
[[nodiscard]] work<T> make_ready_work(detail::port_ptr home, T value,
                                      op_info const& info = op_info()) {
  boost::intrusive_ptr<detail::value_state<T>> op(new detail::value_state<T>(std::move(home)),
                                                  false);
  op->mutable_info() = info;
  op->store(std::move(value));
  op->finish();
  return work<T>(std::move(op));
}

/// A handle that is done.
[[nodiscard]] inline work<> make_ready_work(detail::port_ptr home = nullptr,
                                            op_info const& info = op_info()) {
  detail::op_ptr<void> const op(new detail::signal_state(std::move(home)), false);
  op->mutable_info() = info;
  op->finish();
  return work<>(op);
}

namespace detail {

/// A handle that has failed already. `operation`: what was called, a literal.
template <class T>
[[nodiscard]] work<T> failed_work(errc code, char const* operation, std::string const& story,
                                  std::source_location const& site) {
  boost::intrusive_ptr<value_state<T>> op(new value_state<T>(nullptr), false);
  op->mutable_info().operation = operation;
  op->mutable_info().site = site;
  op->finish(make_failure(make_error_code(code), to_string(op->info()) + ": " + story));
  return work<T>(std::move(op));
}

}  // namespace detail

}  // namespace hocket
