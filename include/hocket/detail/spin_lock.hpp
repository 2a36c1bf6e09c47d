// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <sched.h>

#include <atomic>

namespace hocket::detail {

/// A lock for sections of a few instructions. It yields while it waits, because the holder may have
/// been preempted: ranks can outnumber cores.
class spin_lock {
 public:
  void lock() noexcept {
    while (taken_.exchange(true, std::memory_order_acquire)) ::sched_yield();
  }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

}  // namespace hocket::detail
