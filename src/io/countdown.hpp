// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <chrono>
#include <functional>

#include "io/poller.hpp"

namespace hocket::io {

/// Calls back once, from the poller, some time after `start`; the call may destroy it. Has its
/// descriptor from the beginning so that it works where there is none left.
class countdown final : private watcher {
 public:
  countdown(poller& p, std::function<void()> over);
  ~countdown();
  countdown(countdown const&) = delete;
  countdown& operator=(countdown const&) = delete;

  void start(std::chrono::nanoseconds after);

 private:
  void ready() noexcept override;
  void stop() noexcept;

  poller& poller_;
  unique_fd timer_;
  std::function<void()> over_;
  bool runs_ = false;
};

}  // namespace hocket::io
