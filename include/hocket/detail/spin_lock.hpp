// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <hocket/detail/sanitized.hpp>

namespace hocket::detail {

/// Sanitizer builds give the processor away at one lock in sixteen: the races that a sanitizer
/// could see hardly ever happen otherwise, on few cores.
inline void yield_at_random() noexcept {
#ifdef HOCKET_SANITIZED
  static thread_local std::uint32_t r = 0;
  if (r == 0) r = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(&r) >> 4) | 1;
  r ^= r << 13;
  r ^= r >> 17;
  r ^= r << 5;
  if (r % 16 == 0) ::sched_yield();
#endif
}

/// A lock for sections of a few instructions. It yields while it waits, because the holder may have
/// been preempted: ranks can outnumber cores.
class spin_lock {
 public:
  void lock() noexcept {
    yield_at_random();
    while (taken_.exchange(true, std::memory_order_acquire)) ::sched_yield();
  }
  void unlock() noexcept {
    taken_.store(false, std::memory_order_release);
    yield_at_random();
  }

 private:
  std::atomic<bool> taken_{false};
};

}  // namespace hocket::detail
