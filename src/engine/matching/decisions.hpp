// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/detail/assert.hpp>
#include <hocket/group/request.hpp>
#include <utility>
#include <vector>

#include "carrier.hpp"

namespace hocket::matching {

class hub;

/// The same failure in an exception object of its own: ranks run on threads of their own, and each
/// may read and drop its error as it likes.
[[nodiscard]] detail::failure own_copy(detail::failure f);

/// What was decided under a hub's lock and is done after it is released, because completing a
/// request may run code that calls the group again.
class decisions {
 public:
  explicit decisions(hub& at) noexcept : at_(at) {}
  [[nodiscard]] hub& at() const noexcept { return at_; }

  void end(request& r, detail::failure why);
  void run(meeting& m) {
    HOCKET_ASSERT(met_ == nullptr && send_ == nullptr);
    met_ = &m;
  }
  void run(request& send, request& recv) {
    HOCKET_ASSERT(met_ == nullptr && send_ == nullptr);
    send_ = &send;
    recv_ = &recv;
  }
  void carry_out(carrier& by) noexcept;

 private:
  hub& at_;
  std::vector<std::pair<request*, detail::failure>> ended_;
  meeting* met_ = nullptr;
  request* send_ = nullptr;
  request* recv_ = nullptr;
};

}  // namespace hocket::matching
