// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Ends that race: cancelling from another thread while a message or the last member comes.
#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/error.hpp>
#include <long_mode.hpp>
#include <thread>
#include <utility>

#include "engine_under_test.hpp"
#include "outcome.hpp"
#include "reference.hpp"

using namespace hocket;
using namespace hocket::conformance;
namespace asio = boost::asio;

namespace {

void pause_for(unsigned turns) {
  std::atomic<unsigned> turned{0};
  while (turned.fetch_add(1, std::memory_order_relaxed) < turns) continue;
}

/// A thread that cancels what it is given, after a pause that is another one each time. It spins,
/// or what it is to race with would be over when it wakes.
class cancelling_thread {
 public:
  ~cancelling_thread() {
    stop_ = true;
    thread_.join();
  }
  void cancel(canceller c, unsigned pause) {
    while (given_) std::this_thread::yield();
    next_ = std::move(c);
    pause_ = pause;
    given_ = true;
  }

 private:
  void loop() {
    while (!stop_) {
      if (!given_) {
        std::this_thread::yield();
        continue;
      }
      auto const c = std::exchange(next_, canceller());
      auto const pause = pause_;
      given_ = false;
      pause_for(pause);
      c.cancel();
    }
  }
  canceller next_;
  unsigned pause_ = 0;
  std::atomic<bool> given_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_{[this] { loop(); }};
};

int rounds() {
#ifdef HOCKET_SANITIZED
  return 200;
#else
  return hocket::test::is_long_mode() ? 100'000 : 400;
#endif
}

unsigned pause_of(int round) {
  return static_cast<unsigned>(mixed(seed(), 0, static_cast<std::uint64_t>(round)) % 4000);
}

// Rank 0 receives, its receive is cancelled meanwhile; each message arrives exactly once.
asio::awaitable<void> receives(world w) {
  auto const g = w.group();
  int const count = rounds();
  if (w.rank().value() == 1) {
    for (int i = 0; i < count; ++i) {
      co_await g.recv(group_rank(0));  // it has begun to receive
      pause_for(pause_of(i + count));
      co_await g.send(tensor::full(dtype::i32, {1}, i), group_rank(0));
    }
    co_return;
  }
  cancelling_thread other;
  int withdrawn = 0;
  int consumed = 0;
  for (int i = 0; i < count; ++i) {
    auto const out = tensor::full(dtype::i32, {1}, -1);
    auto const got = g.recv(out, group_rank(1));
    g.send(tensor::zeros(dtype::u8, {1}), group_rank(1));
    other.cancel(got.get_canceller(), pause_of(i));
    auto const o = co_await outcome_of(work<>(got));
    auto const let_go = co_await outcome_of(got.released());
    CHECK(!let_go.code);
    if (!o.code) {
      REQUIRE(out.item<std::int32_t>(0) == i);
      continue;
    }
    REQUIRE(o.code == operation_aborted());
    // Withdrawn, the message is still there; matched before, it was taken by the receive.
    if (out.item<std::int32_t>(0) == i) {
      ++consumed;
      continue;
    }
    ++withdrawn;
    auto const rest = co_await g.recv(group_rank(1));
    REQUIRE(rest.item<std::int32_t>(0) == i);
  }
  MESSAGE("of ", count, " receives ", withdrawn, " were withdrawn and ", consumed, " too late");
}

// All cancel their part of every operation; it is right on all of them all the same.
asio::awaitable<void> gathers(world w) {
  auto const g = w.group();
  int const n = g.size();
  int const me = g.rank().value();
  cancelling_thread other;
  int const count = rounds() / 4;
  for (int i = 0; i < count; ++i) {
    auto const out = tensor::zeros(dtype::i32, {n});
    auto const done = g.all_gather(out, tensor::full(dtype::i32, {1}, 10 * i + me));
    other.cancel(done.get_canceller(), pause_of(i));
    auto const o = co_await outcome_of(work<>(done));
    REQUIRE((!o.code || o.code == operation_aborted()));
    co_await done.released();
    for (int r = 0; r < n; ++r) REQUIRE(out.item<std::int32_t>(r) == 10 * i + r);
  }
}

// A group is revoked by one while the others call.
asio::awaitable<void> revocations(world w) {
  int const count = rounds() / 40;
  auto const members = rank_group::consecutive(world_rank(0), w.size());
  for (int i = 0; i < count; ++i) {
    auto const g = co_await make_group(w, members, group_options().deadline(hang));
    std::thread revoker;
    if (w.rank().value() == i % w.size())
      revoker = std::thread([g, i] {
        pause_for(pause_of(i));
        g.revoke("a race");
      });
    outcome o;
    while (!o.code) o = co_await outcome_of(g.barrier());
    CHECK_MESSAGE(o.code == errc::revoked, o.story);
    if (revoker.joinable()) revoker.join();
    co_await w.group().barrier();  // or who is told first drops the group before the others are
  }
}

}  // namespace

TEST_CASE("a receive that is cancelled while its message comes ends once, and none is lost") {
  run_everywhere(2, receives);
}
TEST_CASE("collectives whose waits are cancelled from other threads are carried out all the same") {
  for (int n : {2, 3}) run_everywhere(n, gathers);
}
TEST_CASE("a group revoked from another thread while it is used ends every operation") {
  for (int n : {2, 3}) run_everywhere(n, revocations);
}
