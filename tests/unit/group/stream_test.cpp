// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Operations ordered after streams and streams ordered after operations.
#include <hocket/async/promise.hpp>
#include <hocket/async/stream.hpp>
#include <ranks.hpp>
#include <stdexcept>

#include "ending.hpp"

using namespace hocket;
using namespace hocket::test;
namespace asio = boost::asio;

namespace {

asio::awaitable<void> after_a_stream(world w) {
  host_stream s;
  auto const g = w.group();
  int const me = w.rank().value();
  auto in = tensor::zeros(dtype::i32, {2});
  auto out = tensor::zeros(dtype::i32, {2 * w.size()});
  for (int round = 1; round <= 20; ++round) {
    auto* const values = in.data<std::int32_t>();
    s.enqueue([=] { values[0] = values[1] = 100 * round + me; });
    auto const gather = g.all_gather(out, in, op_options().after(s));
    gather.wait_on(s);
    auto const sum = s.run([=] {
      int total = 0;
      for (auto const x : out.as_span<std::int32_t>()) total += x;
      return total;
    });
    auto const total = co_await work(sum);
    CHECK(total == 2 * (100 * round * w.size() + w.size() * (w.size() - 1) / 2));
  }
}

// Sends whose mark comes late, to receives that wait or come later, and the other way round.
asio::awaitable<void> late_marks(world w) {
  auto const g = w.group();
  int const me = w.rank().value();
  promise<> mark(w.get_executor());
  auto const after = op_options().after(event(mark.get_work()));
  if (me == 0) {
    auto const first = g.send(tensor::full(dtype::i32, {1}, 1), group_rank(1), after);
    auto const second = g.send(tensor::full(dtype::i32, {1}, 2), group_rank(1));
    co_await g.channel(1).barrier();
    co_await work(second);  // it need not wait for the first one's buffer
    CHECK_FALSE(first.ready());
    mark.set();
    co_await work(first);
  } else {
    auto out = tensor::zeros(dtype::i32, {1});
    auto const first = g.recv(out, group_rank(0), after);
    co_await g.channel(1).barrier();
    auto const second = co_await g.recv(group_rank(0));
    CHECK(second.item<std::int32_t>(0) == 2);
    mark.set();
    co_await work(first);
    CHECK(out.item<std::int32_t>(0) == 1);
  }
  co_await g.barrier();
}

// The mark fails: this rank's part is a local failure, told to the peers.
asio::awaitable<void> failed_marks(world w, bool early) {
  auto const g = w.group();
  int const me = w.rank().value();
  promise<> mark(w.get_executor());
  op_options options;
  if (me == 0) options.after(event(mark.get_work()));
  if (me == 0 && early) mark.fail(std::make_exception_ptr(std::runtime_error("bad kernel")));
  auto const met = g.barrier(options);
  group_rank const other(1 - me);
  auto t = tensor::zeros(dtype::u8, {1});
  auto const message = me == 0 ? g.send(t, other, options) : g.recv(t, other);
  auto const answer = me == 0 ? g.recv(t, other, options) : g.send(t, other);
  co_await g.channel(1).barrier();
  if (me == 0 && !early) mark.fail(std::make_exception_ptr(std::runtime_error("bad kernel")));
  auto const a = co_await ended(met);
  auto const b = co_await ended(message);
  auto const c = co_await ended(answer);
  for (auto const* e : {&a, &b, &c}) {
    CHECK(e->code == errc::peer_failed);
    CHECK_MESSAGE(e->tells("the mark of after() failed: bad kernel"), e->story);
    CHECK(e->tells("rank 0 could not take part") == (me == 1));
  }
  co_await g.barrier();
}

// Operations that end before their mark comes: revoked, or failed by a peer.
asio::awaitable<void> marks_that_come_too_late(world w) {
  auto const g = co_await make_group(w, rank_group::of(0, 1));
  int const me = w.rank().value();
  promise<> mark(w.get_executor());
  auto const after = op_options().after(event(mark.get_work()));
  group_rank const other(1 - me);
  auto t = tensor::zeros(dtype::u8, {1});
  {
    auto const collective = g.broadcast(me == 0 ? t : tensor(), group_rank(0), after);
    auto const e = co_await ended(collective);
    CHECK(e.code == (me == 0 ? errc::peer_failed : errc::invalid_argument));
  }
  auto const matched = me == 0 ? g.send(t, other, after) : g.recv(t, other, after);
  auto const waiting = g.recv(t, other, op_options(after).tag(5));
  co_await w.group().barrier();
  if (me == 0) g.revoke("enough");
  auto const a = co_await ended(matched);
  auto const b = co_await ended(waiting);
  CHECK(a.code == errc::revoked);
  CHECK(b.code == errc::revoked);
  mark.set();
  co_await w.group().barrier();
}

// A stream that waits for an operation that fails is told so by its later marks.
asio::awaitable<void> stream_after_failure(world w) {
  host_stream s;
  auto const g = w.group();
  auto t = w.rank().value() == 0 ? tensor() : tensor::zeros(dtype::u8, {1});
  auto const bad = g.broadcast(t, group_rank(1));
  bad.wait_on(s);
  auto const mark = s.record();
  auto const e = co_await ended(mark.wait());
  CHECK(e.code == (w.rank().value() == 0 ? errc::invalid_argument : errc::peer_failed));
}

}  // namespace

TEST_CASE(
    "an operation after a stream reads what the stream wrote, and streams wait for operations") {
  for (int n : {1, 2, 3}) run_ranks_everywhere(n, after_a_stream);
}
TEST_CASE("messages wait for the marks of both sides and do not hold up others") {
  run_ranks_everywhere(2, late_marks);
}
TEST_CASE("a mark that fails before or after the call fails this rank's part and tells the peers") {
  for (bool early : {true, false})
    run_ranks_everywhere(2, [=](world w) { return failed_marks(w, early); });
}
TEST_CASE("a mark that comes after its operation has ended has no effect") {
  run_ranks_everywhere(2, marks_that_come_too_late);
}
TEST_CASE("a stream that waits for a failed operation fails its later marks") {
  run_ranks_everywhere(2, stream_after_failure);
}
