// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/async/work.hpp>
#include <utility>

namespace hocket::detail {

/// The result of another op, changed by a function.
template <class A, class B, class F>
class then_state final : public value_state<B>, public continuation {
 public:
  then_state(op_ptr<A> source, F function)
      : value_state<B>(port_ptr(source->home())),
        source_(std::move(source)),
        function_(std::move(function)) {
    continuation::run = [](continuation* c) noexcept {
      boost::intrusive_ptr<then_state> const self(static_cast<then_state*>(c), false);
      self->settle_from_source();
    };
    this->mutable_info() = source_->info();
  }
  /// Takes over one reference of the caller.
  void begin() noexcept { source_->when_settled(*this); }
  [[nodiscard]] bool drive() override { return source_->drive(); }

 protected:
  /// Nobody waits for the source but this op: a receive that is not matched yet is withdrawn.
  void waits_ended() noexcept override { source_->abort(); }

 private:
  void settle_from_source() noexcept {
    auto const source = source_;
    if (source->failed()) return this->finish(source->why());
    failure f;
    try {
      if constexpr (std::is_void_v<B>) {
        function_(source->take());
      } else {
        this->store(function_(source->take()));
      }
    } catch (...) {
      f = failure_from(std::current_exception());
    }
    this->finish(std::move(f));  // once this thread has let go of the exception
  }
  // The source is kept as long as this op: its description (info) points into it.
  op_ptr<A> source_;
  F function_;
};

/// A handle on `f(result of w)`. `f` runs on the thread that settles `w`: it must be short, must
/// not block and must not call user code. A failure of `w`, or of `f`, is this handle's.
template <class A, class F>
auto then(work<A> const& w, F f) {
  using B = std::invoke_result_t<F&, value_of<A>>;
  boost::intrusive_ptr<then_state<A, B, F>> state(new then_state<A, B, F>(w.state(), std::move(f)),
                                                  false);
  work<B> handle{op_ptr<B>(state)};
  state.detach()->begin();
  return handle;
}

}  // namespace hocket::detail
