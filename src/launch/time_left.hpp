// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <algorithm>
#include <chrono>
#include <hocket/async/op_options.hpp>

namespace hocket {

/// What is left of a limit that counts from the object's beginning.
class time_left {
 public:
  explicit time_left(clock::duration limit)
      : is_limited_(limit != clock::duration::max()),
        end_(is_limited_ ? std::chrono::steady_clock::now() + limit
                         : std::chrono::steady_clock::time_point::max()) {}
  [[nodiscard]] clock::duration get() const {
    if (!is_limited_) return clock::duration::max();
    return std::max<clock::duration>(end_ - std::chrono::steady_clock::now(),
                                     clock::duration::zero());
  }
  [[nodiscard]] op_options options() const { return op_options().deadline(get()); }

 private:
  bool is_limited_;
  std::chrono::steady_clock::time_point end_;
};

}  // namespace hocket
