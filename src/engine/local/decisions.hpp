// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/detail/assert.hpp>
#include <hocket/group/request.hpp>
#include <utility>
#include <vector>

#include "fabric.hpp"

namespace hocket::local {

class hub;

/// What was decided under a hub's lock and is done after it is released, because completing a
/// request may run code that calls the group again.
class decisions {
 public:
  explicit decisions(hub& at) noexcept : at_(at) {}
  [[nodiscard]] hub& at() const noexcept { return at_; }

  void end(request& r, detail::failure why) {
    HOCKET_ASSERT(!r.decided);
    r.decided = true;
    ended_.emplace_back(&r, std::move(why));
  }
  void run(job& j, std::size_t bytes) {
    HOCKET_ASSERT(job_ == nullptr);
    job_ = &j;
    bytes_ = bytes;
  }
  void carry_out(fabric& f) noexcept {
    for (auto& [r, why] : ended_) r->complete(std::move(why));
    if (job_ != nullptr) f.carry_out(*job_, bytes_);
  }

 private:
  hub& at_;
  std::vector<std::pair<request*, detail::failure>> ended_;
  job* job_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace hocket::local
