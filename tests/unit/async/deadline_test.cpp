// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <hocket/async/detail/timer_queue.hpp>
#include <hocket/async/promise.hpp>
#include <hocket/async/runtime.hpp>
#include <hocket/error.hpp>
#include <optional>
#include <vector>

#include "async_support.hpp"

namespace asio = boost::asio;
using namespace hocket;
using namespace hocket_test;
using namespace std::chrono_literals;

namespace {

struct still_runtime {
  manual_clock clock;
  runtime rt{runtime_options().clock(clock).thread(false)};
  template <class T>
  work<T> limited(promise<T> const& p, clock::duration d) {
    auto w = p.get_work();
    rt.timers().add(*w.state(), clock.now() + d);
    return w;
  }
};

class counting_source final : public progress_source {
 public:
  explicit counting_source(int turns) : left(turns) {}
  bool progress() noexcept override {
    ++calls;
    return --left > 0;
  }
  std::atomic<int> left;
  std::atomic<int> calls{0};
};

// An op that the blocked thread itself moves.
class driven_state final : public detail::value_state<int> {
 public:
  using value_state::value_state;
  bool drive() override {
    if (++turns == 5) finish();
    return true;
  }
  int turns = 0;
};

}  // namespace

TEST_CASE("a deadline ends the wait when its time has come, not before") {
  asio::io_context ctx;
  still_runtime t;
  promise<int> p(ctx.get_executor()), q(ctx.get_executor());
  auto soon = t.limited(p, 10ms);
  auto later = t.limited(q, 30ms);
  t.clock.advance(9ms);
  t.rt.poll();
  CHECK(!soon.ready());
  t.clock.advance(1ms);
  t.rt.poll();
  CHECK(code_of(soon) == errc::timed_out);
  CHECK(!later.ready());
  q.set(1);
  t.clock.advance(1h);
  t.rt.poll();
  CHECK(later.get(long_enough) == 1);
  p.set(2);  // the operation goes on behind the missed deadline
  CHECK(code_of(soon) == errc::timed_out);
  CHECK(!t.rt.timers().next());
}

TEST_CASE("a result takes its deadline out of the queue") {
  asio::io_context ctx;
  still_runtime t;
  promise<int> p(ctx.get_executor());
  auto w = t.limited(p, 10ms);
  CHECK(t.rt.timers().next() == t.clock.now() + 10ms);
  p.set(1);
  CHECK(!t.rt.timers().next());
}

TEST_CASE("deadlines fire in order of time and all that are due fire in one turn") {
  asio::io_context ctx;
  still_runtime t;
  std::vector<promise<int>> ps;
  std::vector<int> order;
  for (int i = 0; i < 7; ++i) {
    auto w = t.limited(ps.emplace_back(ctx.get_executor()), std::chrono::milliseconds(70 - 10 * i));
    w.async_wait([&order, i](boost::system::error_code e, int) {
      if (e == errc::timed_out) order.push_back(i);
    });
  }
  t.clock.advance(1s);
  t.rt.poll();
  ctx.run();
  CHECK(order == std::vector<int>{6, 5, 4, 3, 2, 1, 0});
}

TEST_CASE("an operation dropped with its deadline pending is not found by the clock") {
  asio::io_context ctx;
  still_runtime t;
  {
    boost::intrusive_ptr<detail::value_state<int>> const op(
        new detail::value_state<int>(detail::port_of(ctx.get_executor())), false);
    t.rt.timers().add(*op, t.clock.now() + 1ms);
  }
  CHECK(!t.rt.timers().next());
  t.clock.advance(1s);
  t.rt.poll();
}

TEST_CASE("a runtime dies with deadlines pending and its operations live on") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  std::optional<still_runtime> t(std::in_place);
  auto w = t->limited(p, 10ms);
  t.reset();
  CHECK(!w.ready());
  p.set(3);
  CHECK(w.get(long_enough) == 3);
}

TEST_CASE("a handle on a runtime that is gone has no thread and no deadlines") {
  asio::io_context ctx;
  std::optional<still_runtime> t(std::in_place);
  auto const handle = t->rt.handle();
  t.reset();
  promise<int> p(ctx.get_executor());
  auto w = p.get_work();
  handle.arm(*w.state(), 0ns);
  handle.wake();
  CHECK(!handle.has_thread());
  p.set(3);
  CHECK(w.get(long_enough) == 3);
}

TEST_CASE("the progress thread fires deadlines by itself") {
  asio::io_context ctx;
  runtime rt;
  promise<int> p(ctx.get_executor());
  auto w = p.get_work();
  rt.timers().add(*w.state(), rt.clock().now() + 1ms);
  CHECK(code_of(w) == errc::timed_out);
}

TEST_CASE("a progress thread notices a moved clock when it is woken") {
  asio::io_context ctx;
  manual_clock clock;
  runtime rt(runtime_options().clock(clock));
  promise<int> p(ctx.get_executor());
  auto w = p.get_work();
  rt.timers().add(*w.state(), clock.now() + 1h);
  clock.advance(2h);
  rt.handle().wake();
  CHECK(code_of(w) == errc::timed_out);
}

TEST_CASE("deadlines, results and cancellers race, and each wait has one outcome") {
  asio::io_context ctx;
  runtime rt;
  completer c;
  for (int i = 0; i < rounds(2000); ++i) {
    promise<int> p(ctx.get_executor());
    auto w = p.get_work();
    rt.timers().add(*w.state(), rt.clock().now() + std::chrono::microseconds(i % 50));
    if (i % 3 == 0) w.get_canceller().cancel();
    if (i % 5 != 0) {
      c.set_later(std::move(p), 1);
    } else {
      auto const dropped = std::move(p);
    }
    auto const code = code_of(w);
    bool const known = !code || code == operation_aborted() || code == errc::timed_out ||
                       code == errc::group_closed;
    CHECK(known);
  }
}

TEST_CASE("a source is driven until it has no more to do, and again when it is woken") {
  runtime rt;
  counting_source s(3);
  rt.handle().attach(s);
  while (s.left > 0) std::this_thread::yield();
  s.left = 2;
  rt.handle().wake();
  while (s.left > 0) std::this_thread::yield();
  rt.handle().detach(s);
  int const calls = s.calls;
  rt.handle().wake();
  CHECK(s.calls == calls);
}

TEST_CASE("a busy source does not keep others from being attached and detached") {
  runtime rt;
  counting_source busy(1 << 30);
  rt.handle().attach(busy);
  for (int i = 0; i < 100; ++i) {
    counting_source s(1 << 30);
    rt.handle().attach(s);
    while (s.calls == 0) std::this_thread::yield();
    rt.handle().detach(s);
  }
  rt.handle().detach(busy);
}

TEST_CASE("a still runtime asks each source once a turn") {
  still_runtime t;
  counting_source s(2);
  t.rt.handle().attach(s);
  CHECK(!t.rt.handle().has_thread());
  CHECK(t.rt.poll());
  CHECK(!t.rt.poll());
  CHECK(s.calls == 2);
  t.rt.handle().detach(s);
  CHECK(!t.rt.poll());
  CHECK(s.calls == 2);
}

TEST_CASE("get() moves an operation that asks for it") {
  asio::io_context ctx;
  boost::intrusive_ptr<driven_state> const op(new driven_state(detail::port_of(ctx.get_executor())),
                                              false);
  op->store(4);
  CHECK(work<int>(detail::op_ptr<int>(op)).get(long_enough) == 4);
  CHECK(op->turns == 5);
}

TEST_CASE("get() past its limit is an error and the operation goes on") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  auto w = p.get_work();
  CHECK_THROWS_WITH_AS(w.get(1ms), doctest::Contains("1 ms"), error);
  p.set(6);
  CHECK(w.get(clock::duration::max()) == 6);
}

TEST_CASE("get() on a thread that runs the group's executor would block") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  boost::system::error_code code;
  asio::post(ctx, [&] { code = code_of(p.get_work()); });
  ctx.run();
  CHECK(code == errc::would_block);
}

TEST_CASE("get() from several threads gives each its value") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  auto w = p.get_work();
  std::atomic<int> sum{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([w, &sum] { sum += w.get(long_enough); });
  p.set(2);
  for (auto& t : threads) t.join();
  CHECK(sum == 8);
}
