// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <hocket/async/promise.hpp>
#include <hocket/async/work.hpp>
#include <hocket/detail/block_pool.hpp>

/// What the tests of the async layer share.
namespace hocket_test {

/// A limit of a blocking wait that only a hang reaches.
inline constexpr auto long_enough = std::chrono::seconds(60);

/// Completion handler of a coroutine that must not fail.
inline void rethrow(std::exception_ptr e) {
  if (e) std::rethrow_exception(e);
}

/// The code a settled handle fails with; none if it succeeds.
template <class T>
boost::system::error_code code_of(hocket::work<T> const& w) {
  try {
    w.get(long_enough);
  } catch (boost::system::system_error const& e) {
    return e.code();
  }
  return {};
}

/// `n` in a plain build, a twentieth of it under sanitizers, tenfold with HOCKET_LONG=1.
inline int rounds(int n) {
#ifdef HOCKET_SANITIZED
  n /= 20;
#endif
  char const* const wanted = std::getenv("HOCKET_LONG");
  return wanted != nullptr && *wanted == '1' ? 10 * n : n;
}

/// Counts its live objects and can be told to throw when it is copied.
class counted {
 public:
  counted() noexcept { ++alive; }
  explicit counted(int v) noexcept : value(v) { ++alive; }
  counted(counted const& other) : value(other.value) {
    if (throws) throw std::runtime_error("the copy of a counted value failed");
    ++alive;
    ++copies;
  }
  counted(counted&& other) noexcept : value(other.value) {
    other.value = 0;
    ++alive;
  }
  counted& operator=(counted other) noexcept {
    std::swap(value, other.value);
    return *this;
  }
  ~counted() { --alive; }

  int value = 0;
  static inline std::atomic<int> alive{0};
  static inline std::atomic<int> copies{0};
  static inline std::atomic<bool> throws{false};
};

}  // namespace hocket_test
