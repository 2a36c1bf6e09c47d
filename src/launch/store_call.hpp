// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <functional>
#include <hocket/async/detail/op_state.hpp>
#include <hocket/error.hpp>
#include <memory>
#include <string>
#include <utility>

#include "launch/store_protocol.hpp"

namespace hocket::rdzv {

class store_client;

/// One call of a client: what it asks, and what it does with the answer. Completed once.
class store_call {
 public:
  store_call(std::weak_ptr<store_client> client, request r)
      : ask(std::move(r)), client_(std::move(client)) {}
  store_call(store_call const&) = delete;
  store_call& operator=(store_call const&) = delete;
  virtual ~store_call() = default;

  [[nodiscard]] virtual detail::op_base& op() noexcept = 0;
  /// The answer has come.
  virtual void deliver(reply r) noexcept = 0;
  void fail(errc code, std::string const& why) noexcept;
  /// Its waits have ended; nobody wants the answer.
  void let_go() noexcept;

  [[nodiscard]] bool is_wanted() noexcept { return op().decided() == detail::verdict::pending; }
  /// May its answer take long? Such calls have a connection of their own.
  [[nodiscard]] bool waits() const noexcept {
    return ask.what == verb::get || ask.what == verb::wait;
  }

  request const ask;

 protected:
  void tell_client() noexcept;
  [[nodiscard]] std::string describe_expiry() noexcept;

 private:
  std::weak_ptr<store_client> client_;
};

/// Counted by its op.
class call_ptr {
 public:
  explicit call_ptr(store_call& c) noexcept : call_(&c), keep_(&c.op()) {}
  store_call* operator->() const noexcept { return call_; }
  store_call& operator*() const noexcept { return *call_; }
  friend bool operator==(call_ptr const& a, store_call const* b) noexcept { return a.call_ == b; }

 private:
  store_call* call_;
  detail::op_ref keep_;
};

template <class T>
class store_op final : public detail::value_state<T>, public store_call {
 public:
  using maker = detail::value_of<T> (*)(reply&&, std::shared_ptr<void>&);

  store_op(detail::port_ptr home, std::weak_ptr<store_client> client, request r, maker make,
           std::shared_ptr<void> extra = nullptr)
      : detail::value_state<T>(std::move(home)),
        store_call(std::move(client), std::move(r)),
        make_(make),
        extra_(std::move(extra)) {}

  [[nodiscard]] detail::op_base& op() noexcept override { return *this; }
  void deliver(reply r) noexcept override {
    this->store(make_(std::move(r), extra_));
    this->finish();
  }

 protected:
  void waits_ended() noexcept override { tell_client(); }
  [[nodiscard]] std::string expiry_story() override { return describe_expiry(); }

 private:
  maker make_;
  std::shared_ptr<void> extra_;
};

}  // namespace hocket::rdzv
