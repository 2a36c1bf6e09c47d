// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <hocket/async/detail/stop_link.hpp>
#include <hocket/async/promise.hpp>
#include <hocket/async/when_any.hpp>
#include <hocket/error.hpp>
#include <optional>
#include <stop_token>
#include <vector>

#include "async_support.hpp"

namespace asio = boost::asio;
using boost::system::error_code;
using namespace hocket;
using namespace hocket_test;

namespace {

struct outcome {
  error_code code;
  int value = 0;
  int calls = 0;
  void operator()(error_code e, int v) {
    code = e;
    value = v;
    ++calls;
  }
};

auto into(outcome& o) {
  return [&o](error_code e, int v) { o(e, v); };
}

asio::awaitable<void> read_story(work<int> w, std::string& story) {
  try {
    co_await std::move(w);
  } catch (error const& e) {
    story = e.what();
  }
}

// An op whose engine holds memory that nobody owns.
class unowned_state final : public detail::value_state<int> {
 public:
  explicit unowned_state(detail::port_ptr home) : value_state(std::move(home)) {
    hold_waits_until_finished();
  }
  int asked = 0;

 protected:
  void waits_ended() noexcept override { ++asked; }
};

}  // namespace

TEST_CASE("a cancelled operation aborts waits that began before and after") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  auto w = p.get_work();
  outcome before, after;
  w.async_wait(into(before));
  w.get_canceller().cancel();
  w.get_canceller().cancel();
  w.async_wait(into(after));
  CHECK(w.ready());
  ctx.run();
  CHECK(before.code == operation_aborted());
  CHECK(after.code == operation_aborted());
  CHECK(before.calls + after.calls == 2);
  p.set(1);  // the operation itself went on
  CHECK(code_of(w) == operation_aborted());
}

TEST_CASE("a canceller has no effect after the result, nor when the operation is gone") {
  asio::io_context ctx;
  canceller c;
  {
    promise<int> p(ctx.get_executor());
    auto w = p.get_work();
    c = w.get_canceller();
    p.set(5);
    c.cancel();
    CHECK(w.get(long_enough) == 5);
  }
  c.cancel();
  canceller().cancel();
  canceller const copy(c);
  copy.cancel();
}

TEST_CASE("a canceller keeps no result alive") {
  asio::io_context ctx;
  canceller c;
  int const before = counted::alive;
  {
    promise<counted> p(ctx.get_executor());
    c = p.get_work().get_canceller();
    p.set(counted(7));
  }
  CHECK(counted::alive - before <= 1);  // the empty value of the state itself
  c = canceller();
  CHECK(counted::alive == before);
}

TEST_CASE("the story of a cancelled wait names the operation and its call site") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  std::string story;
  asio::co_spawn(ctx, read_story(p.get_work(), story), rethrow);
  ctx.poll();
  p.get_work().get_canceller().cancel();
  ctx.run();
  CHECK(story.find("promise (cancel_test.cpp:") != std::string::npos);
  CHECK(story.find("cancelled") != std::string::npos);
}

TEST_CASE("a slot ends one wait and the operation can be awaited again") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  auto w = p.get_work();
  asio::cancellation_signal signal;
  outcome one, other;
  w.async_wait(asio::bind_cancellation_slot(signal.slot(), into(one)));
  w.async_wait(into(other));
  signal.emit(asio::cancellation_type::terminal);
  ctx.poll();
  CHECK(one.code == operation_aborted());
  CHECK(one.calls == 1);
  CHECK(other.calls == 0);
  CHECK(!w.ready());
  p.set(8);
  ctx.run();
  CHECK(other.value == 8);
  CHECK(one.calls == 1);
}

TEST_CASE("a stale emission of a slot finds nothing, also in reused memory") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  auto w = p.get_work();
  asio::cancellation_signal first, second;
  outcome one, other;
  w.async_wait(asio::bind_cancellation_slot(first.slot(), into(one)));
  first.emit(asio::cancellation_type::partial);
  first.emit(asio::cancellation_type::terminal);
  ctx.poll();
  w.async_wait(asio::bind_cancellation_slot(second.slot(), into(other)));
  first.emit(asio::cancellation_type::terminal);
  ctx.restart();
  ctx.poll();
  CHECK(one.calls == 1);
  CHECK(other.calls == 0);
  p.set(2);
  second.emit(asio::cancellation_type::terminal);  // too late
  ctx.run();
  CHECK(other.value == 2);
}

TEST_CASE("a slot that was emitted after the operation died does nothing") {
  asio::io_context ctx;
  asio::cancellation_signal signal;
  {
    asio::io_context other;
    promise<int> p(other.get_executor());
    p.get_work().async_wait(
        asio::bind_cancellation_slot(signal.slot(), [](error_code, int) { FAIL("called"); }));
  }
  signal.emit(asio::cancellation_type::terminal);
}

TEST_CASE("a stop token cancels before, during and after, and is let go with the result") {
  asio::io_context ctx;
  std::stop_source source;
  promise<int> p(ctx.get_executor()), q(ctx.get_executor()), r(ctx.get_executor());
  auto during = p.get_work();
  auto after = q.get_work();
  detail::cancel_on_stop(*during.state(), source.get_token());
  detail::cancel_on_stop(*after.state(), source.get_token());
  detail::cancel_on_stop(*after.state(), std::stop_token());
  q.set(3);
  source.request_stop();
  auto before = r.get_work();
  detail::cancel_on_stop(*before.state(), source.get_token());
  CHECK(code_of(during) == operation_aborted());
  CHECK(after.get(long_enough) == 3);
  CHECK(code_of(before) == operation_aborted());
}

TEST_CASE("stops and results race, and each wait has one outcome") {
  asio::io_context ctx;
  completer c;
  for (int i = 0; i < rounds(2000); ++i) {
    std::stop_source source;
    auto w = c.later(ctx.get_executor(), 1);
    detail::cancel_on_stop(*w.state(), source.get_token());
    source.request_stop();
    auto const code = code_of(w);
    CHECK((!code || code == operation_aborted()));
  }
}

TEST_CASE("a cancelled wait on memory without an owner is told when the engine has let go") {
  asio::io_context ctx;
  boost::intrusive_ptr<unowned_state> const op(
      new unowned_state(detail::port_of(ctx.get_executor())), false);
  work<int> w{detail::op_ptr<int>(op)};
  outcome o;
  w.async_wait(into(o));
  w.get_canceller().cancel();
  w.get_canceller().cancel();
  CHECK(op->asked == 1);
  CHECK(!w.ready());
  ctx.poll();
  CHECK(o.calls == 0);
  op->store(3);
  op->finish();
  ctx.run();
  CHECK(o.code == operation_aborted());
  w.get_canceller().cancel();
  CHECK(op->asked == 1);
}

TEST_CASE("a slot's wait on memory without an owner is told as late, the others their result") {
  asio::io_context ctx;
  boost::intrusive_ptr<unowned_state> const op(
      new unowned_state(detail::port_of(ctx.get_executor())), false);
  work<int> w{detail::op_ptr<int>(op)};
  asio::cancellation_signal signal;
  outcome one, other;
  w.async_wait(asio::bind_cancellation_slot(signal.slot(), into(one)));
  w.async_wait(into(other));
  signal.emit(asio::cancellation_type::terminal);
  ctx.poll();
  CHECK(one.calls == 0);
  CHECK(op->asked == 0);
  op->store(3);
  op->finish();
  ctx.run();
  CHECK(one.code == operation_aborted());
  CHECK(one.calls == 1);
  CHECK(other.value == 3);
}

TEST_CASE("released() comes when the engine has finished, whatever became of the wait") {
  asio::io_context ctx;
  promise<int> p(ctx.get_executor());
  auto w = p.get_work();
  auto released = w.released();
  w.get_canceller().cancel();
  CHECK(w.ready());
  CHECK(!released.ready());
  p.fail(errc::peer_lost, "later");
  CHECK(released.ready());
  released.get(long_enough);
  CHECK(code_of(w) == operation_aborted());
}

TEST_CASE("posted() comes with the window, or at the latest with the end") {
  asio::io_context ctx;
  using state = detail::value_state<int>;
  boost::intrusive_ptr<state> const a(new state(detail::port_of(ctx.get_executor())), false);
  boost::intrusive_ptr<state> const b(new state(detail::port_of(ctx.get_executor())), false);
  a->begin_unposted();
  b->begin_unposted();
  auto first = work<int>(detail::op_ptr<int>(a)).posted();
  auto second = work<int>(detail::op_ptr<int>(b)).posted();
  CHECK(!first.ready());
  a->mark_posted();
  CHECK(first.ready());
  CHECK(!a->settled());
  CHECK(!second.ready());
  b->finish();
  CHECK(second.ready());
  a->finish();
  CHECK(promise<int>(ctx.get_executor()).get_work().posted().ready());
}
