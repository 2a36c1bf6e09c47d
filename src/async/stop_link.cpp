// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <hocket/async/canceller.hpp>
#include <hocket/async/detail/stop_link.hpp>
#include <memory>
#include <utility>

namespace hocket::detail {
namespace {

// Dies when the op settles: on this thread, inside the callback, if the stop itself settles it.
class stop_link final : public pooled, public continuation {
 public:
  stop_link(op_base& op, std::stop_token const& token) : callback_(token, request(&op)) {
    continuation::run = [](continuation* c) noexcept {
      std::unique_ptr<stop_link> const self(static_cast<stop_link*>(c));
    };
  }

 private:
  class request {
   public:
    explicit request(op_base* op) noexcept : canceller_(op) {}
    void operator()() const noexcept {
      canceller const c = canceller_;  // *this may be gone before cancel() returns
      c.cancel();
    }

   private:
    canceller canceller_;
  };
  std::stop_callback<request> callback_;
};

}  // namespace

void cancel_on_stop(op_base& op, std::stop_token const& token) {
  if (!token.stop_possible() || op.settled()) return;
  op.when_settled(*new stop_link(op, token));  // deletes itself
}

}  // namespace hocket::detail
