// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/async/detail/op_state.hpp>
#include <hocket/group/engine.hpp>
#include <memory>
#include <utility>

namespace hocket::detail {

/// A failure that nobody was told goes to the group's handler.
void report_if_unseen(op_base const& op, request const& r) noexcept;

/// The waits of the request's op end before its result: the engine takes back what it still can;
/// where a deadline has passed and the request says so, the group is revoked.
void end_early(op_base const& op, request& r, endpoint& at) noexcept;

/// Lets go of all tensors of a request, see there.
void hand_back(request& r, port* home) noexcept;

/// A request together with the state behind its handle. Keeps its endpoint alive, not the group:
/// dropping the last handle of a group leaves it even while operations are pending.
template <class T>
class group_op : public op_state<T> {
 public:
  group_op(port_ptr home, std::shared_ptr<endpoint> at) noexcept
      : op_state<T>(std::move(home)), endpoint_(std::move(at)) {}

  request asked;

  [[nodiscard]] bool drive() override { return endpoint_->drive(); }

 protected:
  void drop_value() noexcept override {
    report_if_unseen(*this, asked);
    hand_back(asked, this->home());
  }
  void waits_ended() noexcept override { end_early(*this, asked, *endpoint_); }
  [[nodiscard]] std::string expiry_story() override { return endpoint_->missing(asked); }

 private:
  std::shared_ptr<endpoint> endpoint_;
};

/// A collective without a result of its own, or a send.
class signal_op final : public group_op<void> {
 public:
  using group_op::group_op;
  [[nodiscard]] std::monostate take() override { return {}; }
};

/// An operation whose result is the tensor it fills.
class tensor_op final : public group_op<tensor> {
 public:
  using group_op::group_op;
  [[nodiscard]] tensor take() override { return asked.out; }
};

/// The same where nobody may have given one.
class optional_tensor_op final : public group_op<std::optional<tensor>> {
 public:
  using group_op::group_op;
  [[nodiscard]] std::optional<tensor> take() override {
    return asked.out.defined() ? std::optional<tensor>(asked.out) : std::nullopt;
  }
};

}  // namespace hocket::detail
