// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <cstdint>
#include <hocket/async/promise.hpp>

#include "async_support.hpp"

namespace asio = boost::asio;
using namespace hocket;
using namespace hocket_test;

namespace {

std::uintptr_t deepest = 0;

[[gnu::noinline]] std::uintptr_t stack_here() {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}

asio::awaitable<void> ready_in_a_row(int n, long& sum) {
  auto const ex = co_await asio::this_coro::executor;
  deepest = stack_here();
  for (int i = 0; i < n; ++i) {
    auto w = ready(ex, i % 3);
    sum += co_await std::move(w);
    deepest = std::min(deepest, stack_here());
  }
}

asio::awaitable<void> one_handle_in_a_row(work<int> w, int n, long& sum) {
  for (int i = 0; i < n; ++i) sum += co_await work(w);
}

asio::awaitable<void> nested(work<int> w, int depth, long& sum) {
  sum += co_await work(w);
  if (depth > 0) co_await nested(w, depth - 1, sum);
  sum += co_await work(w);
}

}  // namespace

TEST_CASE("a million ready awaits in a row run in bounded stack") {
  asio::io_context ctx;
  long sum = 0;
  int const n = rounds(1'000'000);
  asio::co_spawn(ctx, ready_in_a_row(n, sum), rethrow);
  auto const top = stack_here();
  ctx.run();
  CHECK(sum >= n - 2);
  CHECK(top - deepest < 512 * 1024);
  MESSAGE("stack used: " << (top - deepest) << " B");
}

TEST_CASE("a million awaits of one handle run in bounded stack, on a strand too") {
  asio::io_context ctx;
  auto const w = ready(ctx.get_executor(), 1);
  long sum = 0;
  int const n = rounds(1'000'000);
  asio::co_spawn(ctx, one_handle_in_a_row(w, n, sum), rethrow);
  asio::co_spawn(asio::make_strand(ctx), one_handle_in_a_row(w, n, sum), rethrow);
  ctx.run();
  CHECK(sum == 2L * n);
}

TEST_CASE("nested coroutines that await ready handles come back in order") {
  asio::io_context ctx;
  auto const w = ready(ctx.get_executor(), 1);
  long sum = 0;
  int const depth = rounds(2000);
  asio::co_spawn(ctx, nested(w, depth, sum), rethrow);
  ctx.run();
  CHECK(sum == 2L * (depth + 1));
}
