// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <chrono>
#include <hocket/async/clock.hpp>

namespace hocket {

/// How to go on without the members of a group that are lost.
class rebuild_options {
 public:
  rebuild_options() = default;

  /// How long the others are waited for, from this member's call. The shortest of those that wait
  /// counts: then the membership closes with those that have come. Zero: with those that are
  /// there. Default: 30 seconds.
  rebuild_options& deadline(clock::duration d) {
    deadline_ = d;
    return *this;
  }

  /// From this member's call.
  [[nodiscard]] clock::duration deadline() const noexcept { return deadline_; }

 private:
  clock::duration deadline_ = std::chrono::seconds(30);
};

}  // namespace hocket
