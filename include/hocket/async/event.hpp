// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/async/work.hpp>

namespace hocket {

/// A completion mark: "everything before this point of the stream is done".
/// A copyable handle; empty ones count as done. Can be awaited like any `work<>`.
class event {
 public:
  event() noexcept = default;
  /// The end of an operation: when its engine has finished, whatever a wait was told.
  explicit event(detail::op_ref op) noexcept : op_(std::move(op)) {}
  /// The end of the operation behind a handle; done if the handle is empty.
  template <class T>
  explicit event(work<T> const& w) noexcept : op_(w.state().get()) {}

  /// Whether it is passed; also true when what it marks failed.
  [[nodiscard]] bool ready() const noexcept { return !op_ || op_->finished(); }
  /// A handle that is done with the mark, or fails as what it marks failed.
  [[nodiscard]] work<> wait() const;
  /// @cond
  [[nodiscard]] detail::op_ref const& state() const noexcept { return op_; }
  /// @endcond

 private:
  detail::op_ref op_;
};

}  // namespace hocket
