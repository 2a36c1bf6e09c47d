// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "forks.hpp"

#include <pthread.h>

#include <atomic>

namespace hocket::host {
namespace {

std::atomic<std::uint64_t> count{0};

}  // namespace

std::uint64_t forks_of_this_process() noexcept {
  static int const watching =
      ::pthread_atfork(nullptr, nullptr, [] { count.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(watching);
  return count.load(std::memory_order_relaxed);
}

}  // namespace hocket::host
