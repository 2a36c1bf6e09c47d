// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// What a completion token decides: inline or through the drain, and whose memory is used.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <hocket/async/promise.hpp>
#include <hocket/error.hpp>

#include "async_support.hpp"

namespace asio = boost::asio;
using boost::system::error_code;
using namespace hocket;
using namespace hocket_test;

namespace {

constexpr int n = 1000;

// The depth of the stack at each resumption, as a number of levels: 0 where the drain has called,
// one more for each ready handle before it.
class levels {
 public:
  void here() {
    auto const at = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    // Inline resumptions go down; one that comes from the drain is back on top.
    level_ = count_++ != 0 && at < last_ ? level_ + 1 : 0;
    last_ = at;
    deepest_ = std::max(deepest_, level_);
    inlined_ += level_ > 0;
  }
  [[nodiscard]] int deepest() const { return deepest_; }
  [[nodiscard]] int inlined() const { return inlined_; }

 private:
  int count_ = 0;
  int level_ = 0;
  int deepest_ = 0;
  int inlined_ = 0;
  std::uintptr_t last_ = 0;
};

asio::awaitable<void> by_co_await(work<int> w, levels& l) {
  for (int i = 0; i < n; ++i) {
    co_await work(w);
    l.here();
  }
}
asio::awaitable<void> by_deferred(work<int> w, levels& l) {
  for (int i = 0; i < n; ++i) {
    auto wait = w(asio::deferred);
    co_await std::move(wait);
    l.here();
  }
}
asio::awaitable<void> by_use_awaitable(work<int> w, levels& l) {
  for (int i = 0; i < n; ++i) {
    co_await w(asio::use_awaitable);
    l.here();
  }
}
asio::awaitable<void> by_async_wait(work<int> w, levels& l) {
  for (int i = 0; i < n; ++i) {
    auto wait = w.async_wait(asio::deferred);
    co_await std::move(wait);
    l.here();
  }
}
asio::awaitable<void> by_tuple(work<int> w, levels& l) {
  for (int i = 0; i < n; ++i) {
    co_await w.async_wait(asio::as_tuple(asio::use_awaitable));
    l.here();
  }
}

levels measured(asio::awaitable<void> (*program)(work<int>, levels&)) {
  asio::io_context ctx;
  levels l;
  asio::co_spawn(ctx, program(ready(ctx.get_executor(), 1), l), rethrow);
  ctx.run();
  return l;
}

// Counts what goes through it.
struct usage {
  int taken = 0;
  int given = 0;
};
template <class T>
struct counting_allocator {
  using value_type = T;
  usage* counts;
  explicit counting_allocator(usage* u) noexcept : counts(u) {}
  template <class U>
  counting_allocator(counting_allocator<U> const& other) noexcept : counts(other.counts) {}
  T* allocate(std::size_t k) {
    ++counts->taken;
    return std::allocator<T>().allocate(k);
  }
  void deallocate(T* p, std::size_t k) noexcept {
    ++counts->given;
    std::allocator<T>().deallocate(p, k);
  }
  template <class U>
  bool operator==(counting_allocator<U> const& other) const noexcept {
    return counts == other.counts;
  }
};

}  // namespace

TEST_CASE("only co_await of a handle, or of w(deferred), goes on inline, and at most 32 deep") {
  for (auto* const program : {by_co_await, by_deferred}) {
    auto const l = measured(program);
    CHECK(l.deepest() <= 32);
    CHECK(l.inlined() >= n * 9 / 10);
  }
}

TEST_CASE("every other token, and all of async_wait, goes through the drain") {
  for (auto* const program : {by_use_awaitable, by_async_wait, by_tuple})
    CHECK(measured(program).deepest() <= 1);
}

TEST_CASE("a large handler lives in its allocator's memory, given back before it is called") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  auto const w = p.get_work();
  usage large_use, small_use;
  std::array<char, 200> const ballast{7};
  usage when_called;
  w.async_wait(
      asio::bind_allocator(counting_allocator<void>(&large_use), [&, ballast](error_code, int) {
        when_called = large_use;
        CHECK(ballast[0] == 7);
      }));
  w.async_wait(asio::bind_allocator(counting_allocator<void>(&small_use), [](error_code, int) {}));
  CHECK(large_use.taken == 1);
  p.set(1);
  ctx.run();
  CHECK(when_called.given == 1);
  CHECK(large_use.taken == 1);
  CHECK(small_use.taken == 0);  // its place is in the operation
}

TEST_CASE("use_future tells failures and cancellations by their exceptions") {
  asio::io_context ctx;
  promise<int> lost(ctx.get_executor());
  promise<int> stopped(ctx.get_executor());
  auto failed = lost.get_work()(asio::use_future);
  auto coded = lost.get_work().async_wait(asio::use_future);
  auto aborted = stopped.get_work().async_wait(asio::use_future);
  stopped.get_work().get_canceller().cancel();
  lost.fail(errc::peer_lost, "rank 3 is gone");
  ctx.run();
  auto const code = [](std::future<int>& f) {
    try {
      f.get();
    } catch (boost::system::system_error const& e) {
      return e.code();
    }
    return error_code();
  };
  CHECK(code(failed) == errc::peer_lost);
  CHECK(code(coded) == errc::peer_lost);
  CHECK(code(aborted) == asio::error::operation_aborted);
}
