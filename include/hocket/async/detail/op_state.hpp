// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/async/detail/op_base.hpp>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace hocket {
class tensor;
class storage;
}  // namespace hocket

namespace hocket::detail {

/// Lets go of what an operation held. Where that ends borrowed memory, its owner is called on the
/// executor behind `home`, in place only on a thread that runs it: whoever ends an operation, the
/// progress thread too, must not have to run foreign code. With that executor gone it is called
/// here, or for the progress thread on the system's threads.
void hand_back(boost::intrusive_ptr<storage> s, port* home) noexcept;
void hand_back(tensor& t, port* home) noexcept;
void hand_back(std::optional<tensor>& t, port* home) noexcept;

template <class T>
using value_of = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

/// The state behind `work<T>`: how a waiter gets its own T.
template <class T>
class op_state : public op_base {
 public:
  using op_base::op_base;
  /// One waiter's T, after success. May throw; then the exception is that waiter's error.
  [[nodiscard]] virtual value_of<T> take() = 0;
};

template <class T>
using op_ptr = boost::intrusive_ptr<op_state<T>>;

/// One more T from `child` for a waiter of the combined op `whole`, the only other owner of whose
/// children it may be: moved out for the last waiter, else copied.
template <class T>
value_of<T> take_from(op_ptr<T> const& child, op_base const& whole) {
  if (whole.alone()) return child->take();
  op_ptr<T> const shared = child;
  return shared->take();
}

/// A state that stores its result.
template <class T>
class value_state : public op_state<T> {
 public:
  using op_state<T>::op_state;

  void store(value_of<T> v) noexcept { value_ = std::move(v); }
  [[nodiscard]] value_of<T> take() override {
    if (this->alone()) return std::move(value_);
    return std::as_const(value_);
  }

 protected:
  void drop_value() noexcept override {
    if constexpr (std::is_same_v<T, tensor> || std::is_same_v<T, std::optional<tensor>>)
      detail::hand_back(value_, this->home());
    else
      value_ = value_of<T>();
  }

 private:
  value_of<T> value_{};
};

/// A state without a result that a continuation completes; the continuation owns one reference.
class signal_state : public op_state<void>, public continuation {
 public:
  explicit signal_state(port_ptr home) noexcept;
  [[nodiscard]] std::monostate take() override { return {}; }

 protected:
  void drop_value() noexcept override {}
};

}  // namespace hocket::detail
