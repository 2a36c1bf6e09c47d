// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <hocket/async/promise.hpp>
#include <hocket/async/stream.hpp>
#include <hocket/error.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "async_support.hpp"

namespace asio = boost::asio;
using namespace hocket;
using namespace hocket_test;

TEST_CASE("a stream runs its items in order, one at a time, on a pool of several threads") {
  asio::thread_pool pool(3);
  host_stream s(pool.get_executor());
  int const n = rounds(20'000);
  int next = 0, wrong = 0;  // plain: the stream orders the accesses
  for (int i = 0; i < n; ++i)
    s.enqueue([&, i] {
      if (next++ != i) ++wrong;
    });
  s.record().wait().get(long_enough);
  CHECK(next == n);
  CHECK(wrong == 0);
}

TEST_CASE("several threads fill one stream, each in its own order") {
  host_stream s;
  std::vector<int> last(3, -1);
  int wrong = 0;
  std::vector<std::thread> threads;
  int const n = rounds(5000);
  for (std::size_t t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < n; ++i)
        s.enqueue([&, t, i] {
          if (last[t] + 1 != i) ++wrong;
          last[t] = i;
        });
    });
  for (auto& t : threads) t.join();
  s.record().wait().get(long_enough);
  CHECK(wrong == 0);
  CHECK(last == std::vector<int>(3, n - 1));
}

TEST_CASE("a stream waits for an operation that another thread completes") {
  asio::io_context ctx;
  completer c;
  host_stream s;
  for (int i = 0; i < rounds(2000); ++i) {
    auto w = c.later(ctx.get_executor(), i);
    bool was_ready = false;
    w.wait_on(s);
    s.enqueue([&] { was_ready = w.ready(); });
    s.record().wait().get(long_enough);
    CHECK(was_ready);
  }
}

TEST_CASE("a stream follows the operation itself, not a wait that was ended") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  host_stream s;
  auto w = p.get_work();
  w.wait_on(s);
  auto mark = s.record();
  w.get_canceller().cancel();
  CHECK(!mark.ready());
  p.set(1);
  mark.wait().get(long_enough);
}

TEST_CASE("two streams wait for each other's marks") {
  host_stream a, b;
  std::vector<int> order;
  for (int i = 0; i < 50; ++i) {
    a.enqueue([&, i] { order.push_back(2 * i); });
    b.wait(a.record());
    b.enqueue([&, i] { order.push_back(2 * i + 1); });
    a.wait(b.record());
  }
  a.record().wait().get(long_enough);
  REQUIRE(order.size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("an item that throws poisons later marks until the failure is cleared") {
  host_stream s;
  int ran = 0;
  auto before = s.record();
  s.enqueue([] { throw error(errc::corrupt, "item 1"); });
  s.enqueue([&] { ++ran; });
  auto after = s.record();
  auto result = s.run([&] { return ran + 10; });
  CHECK(!code_of(before.wait()));
  CHECK(code_of(after.wait()) == errc::corrupt);
  CHECK(result.get(long_enough) == 11);  // a call with a handle has its own error only
  s.clear_failure();
  CHECK(!code_of(s.record().wait()));
}

TEST_CASE("a failed operation poisons the stream that was ordered after it") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  host_stream s;
  p.get_work().wait_on(s);
  p.fail(errc::peer_lost, "rank 2");
  CHECK(code_of(s.record().wait()) == errc::peer_lost);
}

TEST_CASE("a call that throws fails its own handle only") {
  host_stream s;
  auto bad = s.run([]() -> int { throw error(errc::unsupported, "no"); });
  auto nothing = s.run([] {});
  CHECK(code_of(bad) == errc::unsupported);
  CHECK(!code_of(nothing));
  CHECK(!code_of(s.record().wait()));
}

TEST_CASE("a stream with a thread of its own runs what can run and drops what waits in vain") {
  asio::io_context ctx;
  promise<> never(ctx.get_executor());
  auto const alive = std::make_shared<int>(0);
  int ran = 0;
  event done, dropped;
  {
    host_stream s;
    s.enqueue([&] { ++ran; });
    done = s.record();
    s.wait(event(never.get_work()));
    s.enqueue([&ran, alive] { ran += 100; });
    dropped = s.record();
  }
  CHECK(ran == 1);
  CHECK(!code_of(done.wait()));
  CHECK(code_of(dropped.wait()) == errc::group_closed);
  CHECK(alive.use_count() == 1);
  never.set();  // its gate is gone
}

TEST_CASE("a stream that is parked for long is dropped as well") {
  asio::io_context ctx;
  promise<> never(ctx.get_executor());
  for (int i = 0; i < rounds(500); ++i) {
    event dropped;
    {
      host_stream s;
      auto const before = s.record();
      s.wait(event(never.get_work()));
      dropped = s.record();
      if (i % 2 == 0) before.wait().get(long_enough);
    }
    CHECK(code_of(dropped.wait()) == errc::group_closed);
  }
}

TEST_CASE("a stream on a context runs its items there and its rest after the stream is gone") {
  asio::io_context ctx;
  auto const strand = asio::make_strand(ctx);
  int right = 0;
  {
    host_stream s(strand);
    for (int i = 0; i < 200; ++i) s.enqueue([&] { right += strand.running_in_this_thread(); });
  }
  CHECK(right == 0);
  ctx.run();
  CHECK(right == 200);
}

TEST_CASE("what a stream waits for is outstanding work of its worker") {
  asio::io_context ctx;
  completer c;
  host_stream s(ctx.get_executor());
  bool ran = false;
  c.later(ctx.get_executor(), 1).wait_on(s);
  s.enqueue([&] { ran = true; });
  ctx.run();
  CHECK(ran);
}

TEST_CASE("a worker that dies takes its items with it and fails their marks") {
  for (bool const parked : {false, true}) {
    CAPTURE(parked);
    asio::io_context elsewhere;
    promise<> never(elsewhere.get_executor());
    auto const alive = std::make_shared<int>(0);
    std::optional<host_stream> s;
    event mark;
    {
      asio::io_context ctx;
      s.emplace(ctx.get_executor());
      if (parked) s->wait(event(never.get_work()));
      s->enqueue([alive] { FAIL("ran"); });
      mark = s->record();
      if (parked) ctx.poll();
    }
    CHECK(alive.use_count() == 1);
    CHECK(mark.ready());
    CHECK(code_of(mark.wait()) == errc::group_closed);
    never.set();
    s->enqueue([alive] { FAIL("ran"); });  // to a dead worker: destroyed at once
    CHECK(alive.use_count() == 1);
    CHECK(s->record().ready());
  }
}

TEST_CASE("marks that are empty or done hold up nothing") {
  host_stream s;
  s.wait(event());
  s.wait(s.record());
  CHECK(event().ready());
  CHECK(s.run([] { return 3; }).get(long_enough) == 3);
  asio::any_io_executor const none;
  CHECK_THROWS_AS(host_stream{none}, error);
}
