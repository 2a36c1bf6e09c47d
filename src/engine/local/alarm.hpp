// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <functional>
#include <hocket/async/detail/op_state.hpp>
#include <utility>

namespace hocket::local {

/// Calls a function when the time has come for which it was armed, on the thread that watches the
/// runtime's deadlines; never once its last reference is gone.
class alarm final : public detail::op_state<void> {
 public:
  explicit alarm(std::function<void()> ring) : op_state(nullptr), ring_(std::move(ring)) {}
  [[nodiscard]] std::monostate take() override { return {}; }

 protected:
  void drop_value() noexcept override { ring_ = nullptr; }
  void waits_ended() noexcept override { ring_(); }

 private:
  std::function<void()> ring_;
};

using alarm_ptr = boost::intrusive_ptr<alarm>;

}  // namespace hocket::local
