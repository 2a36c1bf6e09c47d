// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/async/detail/op_base.hpp>
#include <utility>

namespace hocket {

/// Ends all waits of one operation, present and future, through any copy of its handle, with
/// `operation_aborted`; after the result it has no effect. The operation itself goes on: this rank
/// still takes part, buffers stay held. Only a receive that no message has met yet is withdrawn;
/// the message goes to the next. Any thread, any time; keeps no result and no buffer alive.
class canceller {
 public:
  canceller() noexcept = default;
  /// Keeps the bookkeeping of the operation in memory, not its buffers; null: `cancel` does
  /// nothing.
  explicit canceller(detail::op_base* op) noexcept : op_(op) { ref(); }
  /// @{
  /// Copies cancel the same operation.
  canceller(canceller const& other) noexcept : op_(other.op_) { ref(); }
  canceller(canceller&& other) noexcept : op_(std::exchange(other.op_, nullptr)) {}
  canceller& operator=(canceller other) noexcept {
    std::swap(op_, other.op_);
    return *this;
  }
  /// @}
  ~canceller() {
    if (op_ != nullptr) op_->weak_release();
  }

  /// No effect after the result, or if it was called before.
  void cancel() const {
    if (op_ == nullptr || !op_->lock_strong()) return;
    detail::op_ref const keep(op_, false);
    op_->abort();
  }

 private:
  void ref() const noexcept {
    if (op_ != nullptr) op_->weak_add();
  }
  detail::op_base* op_ = nullptr;
};

}  // namespace hocket
