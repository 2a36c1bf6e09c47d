// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <hocket/async/promise.hpp>
#include <hocket/async/stream.hpp>
#include <hocket/error.hpp>
#include <string>

namespace asio = boost::asio;
using namespace hocket;

namespace {

void rethrow(std::exception_ptr e) {
  if (e) std::rethrow_exception(e);
}

asio::awaitable<void> await_twice(work<int> w, int& sum) {
  sum += co_await work(w);
  sum += co_await std::move(w);
}

asio::awaitable<void> await_failure(work<int> w, std::string& story) {
  try {
    co_await work(w);
  } catch (error const& e) {
    story = e.what();
  }
  auto [code, value] = co_await w.async_wait(asio::as_tuple(asio::use_awaitable));
  CHECK(code == errc::peer_lost);
  CHECK(value == 0);
}

asio::awaitable<void> compute(host_stream& s, int& out) {
  int x = 1;
  s.enqueue([&x] { x = 20; });
  auto mark = s.record();
  co_await mark.wait();
  out = x + co_await s.run([&x] { return x + 1; });
}

}  // namespace

TEST_CASE("a handle gives its result to every waiter") {
  asio::io_context ctx;
  int sum = 0;
  promise<int> p(ctx.get_executor());
  asio::co_spawn(ctx, await_twice(p.get_work(), sum), rethrow);
  ctx.poll();
  CHECK(sum == 0);
  p.set(21);
  ctx.run();
  CHECK(sum == 42);
}

TEST_CASE("a failure reaches an exception and an error_code alike") {
  asio::io_context ctx;
  std::string story;
  promise<int> p(ctx.get_executor());
  asio::co_spawn(ctx, await_failure(p.get_work(), story), rethrow);
  p.fail(errc::peer_lost, "rank 2 is gone");
  ctx.run();
  CHECK(story.find("rank 2 is gone") != std::string::npos);
  CHECK(story.find("work_test.cpp:") != std::string::npos);
}

TEST_CASE("a host stream runs its items in order on its own thread") {
  asio::io_context ctx;
  host_stream s;
  int out = 0;
  asio::co_spawn(ctx, compute(s, out), rethrow);
  ctx.run();
  CHECK(out == 41);
}
