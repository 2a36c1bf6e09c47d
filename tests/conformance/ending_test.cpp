// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Cancelling, deadlines and revoking of every operation: before, during and after it.
#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/error.hpp>
#include <chrono>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "calls.hpp"
#include "engine_under_test.hpp"
#include "outcome.hpp"

using namespace hocket;
using namespace hocket::conformance;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

enum class when { before, during, after };
constexpr when every_time[] = {when::before, when::during, when::after};

// The last rank cancels its own wait; it takes part all the same, and the others notice nothing.
asio::awaitable<void> cancel_collectives(world w) {
  static auto const calls = collective_calls();
  auto const g = w.group();
  bool const cancels = w.rank().value() == w.size() - 1;
  for (auto const& c : calls) {
    if (c.name == "monitored_barrier") continue;  // over for all when one gives up
    for (when const t : every_time) {
      std::stop_source stop;
      if (cancels && t == when::before) stop.request_stop();
      auto options = op_options();
      options.stop(stop.get_token());
      if (!cancels) co_await g.channel(1).barrier();  // the one that cancels comes first
      auto const mine = c.start(g, options);
      if (cancels && t == when::during) mine.get_canceller().cancel();
      if (cancels) co_await g.channel(1).barrier();
      if (cancels && t == when::after) {
        co_await mine.released();
        auto const result = co_await mine.end();
        CHECK_MESSAGE(!result.code, c.form, ": ", result.story);
        mine.get_canceller().cancel();  // without effect
      }
      auto const o = co_await mine.end();
      bool const aborted = cancels && t != when::after;
      CHECK_MESSAGE(o.code == (aborted ? operation_aborted() : boost::system::error_code()), c.form,
                    ": ", o.story);
      auto const again = co_await mine.end();  // every wait ends alike
      CHECK(again.code == o.code);
      co_await mine.released();
    }
  }
  g.channel(1).close_channel();
  co_await g.barrier();
}

// A receive that is cancelled in time is withdrawn: its message goes to the next one.
asio::awaitable<void> withdraw(world w) {
  auto const receives = receive_calls();
  auto const sends = send_calls();
  auto const g = w.group();
  for (std::size_t i = 0; i < receives.size(); ++i)
    for (when const t : every_time) {
      std::stop_source stop;
      if (t == when::before) stop.request_stop();
      auto options = op_options();
      options.stop(stop.get_token());
      auto const first = receives[i].start(g, options);
      if (t == when::during) first.get_canceller().cancel();
      if (t != when::after) {
        auto const o = co_await first.end();
        CHECK_MESSAGE(o.code == operation_aborted(), receives[i].form, ": ", o.story);
        co_await first.released();  // its memory is free although no message has come
      }
      co_await g.barrier();
      auto const plain = op_options();
      auto const sent = sends[i].start(g, plain);
      auto const got = t == when::after ? first : receives[i].start(g, plain);
      auto const o = co_await got.end();
      CHECK_MESSAGE(!o.code, receives[i].form, ": ", o.story);
      auto const s = co_await sent.end();
      CHECK_MESSAGE(!s.code, sends[i].form, ": ", s.story);
      first.get_canceller().cancel();
      co_await g.barrier();
    }
}

// A send whose wait is cancelled is sent all the same.
asio::awaitable<void> cancel_sends(world w) {
  auto const receives = receive_calls();
  auto const sends = send_calls();
  auto const g = w.group();
  for (std::size_t i = 0; i < sends.size(); ++i) {
    auto const plain = op_options();
    auto const sent = sends[i].start(g, plain);
    bool const was_sent = sent.ready();
    sent.get_canceller().cancel();
    auto const s = co_await sent.end();  // it may also have been sent in between
    bool const ended_right = !s.code || (!was_sent && s.code == operation_aborted());
    CHECK_MESSAGE(ended_right, sends[i].form, ": ", s.story);
    auto const got = receives[i].start(g, plain);
    auto const o = co_await got.end();
    CHECK_MESSAGE(!o.code, receives[i].form, ": ", o.story);
    co_await sent.released();
  }
  co_await g.barrier();
}

// Deadlines: over before the call, while it waits, and never where it is done in time.
asio::awaitable<void> deadlines(world w) {
  static constexpr clock::duration limits[] = {-1ns, 0ns, 3ms};
  static auto const calls = collective_calls();
  auto const g = w.group();
  bool const comes_late = w.rank().value() == 0;
  for (auto const& c : calls) {
    if (c.name == "monitored_barrier") continue;
    for (auto const limit : limits) {
      called mine;
      if (!comes_late) {
        auto options = op_options();
        options.deadline(limit);
        mine = c.start(g, options);
        auto const o = co_await mine.end();
        CHECK_MESSAGE(o.code == errc::timed_out, c.form, ": ", o.story);
        CHECK_MESSAGE(o.tells("rank 0"), c.form, ": ", o.story);
      }
      co_await g.channel(1).barrier();
      if (comes_late) {
        mine = c.start(g, op_options());
        auto const o = co_await mine.end();
        CHECK_MESSAGE(!o.code, c.form, ": ", o.story);
      }
      co_await mine.released();
    }
    auto options = op_options();
    options.deadline(hang);
    auto const in_time = c.start(g, options);
    auto const o = co_await in_time.end();
    CHECK_MESSAGE(!o.code, c.form, ": ", o.story);
  }
  for (auto const& r : receive_calls()) {
    auto options = op_options();
    options.deadline(2ms);
    auto const nothing = r.start(g, options);
    auto const o = co_await nothing.end();
    CHECK_MESSAGE(o.code == errc::timed_out, r.form, ": ", o.story);
    co_await nothing.released();
  }
  g.channel(1).close_channel();
  co_await g.barrier();
}

// Rank 0 revokes while the others wait in every call: all of them end, and all that come later; a
// group that is made anew has none of the old messages.
asio::awaitable<void> revoke_all(world w) {
  auto const members = rank_group::consecutive(world_rank(0), w.size());
  auto const g = co_await make_group(w, members, group_options().name("revoked").deadline(hang));
  int const me = w.rank().value();
  auto all = collective_calls();
  for (auto const& c : receive_calls()) all.push_back(c);
  for (auto const& c : send_calls()) all.push_back(c);
  std::vector<called> waiting;
  std::uint64_t channel = 1;
  auto const plain = op_options();
  for (auto const& c : all) {
    auto const apart = g.channel(channel++);
    if (me != 0 && w.size() > 2 && (c.name == "send" || c.name == "send_object")) continue;
    if (me != 0) waiting.push_back(c.start(apart, plain));
  }
  g.send(tensor::full(dtype::i32, {1}, 13), group_rank((me + 1) % w.size()),
         op_options().tag(99));  // never received in this group
  co_await w.group().barrier();
  if (me == 0) g.revoke("the job is over");
  for (auto const& c : waiting) {
    auto const o = co_await c.end();
    bool const rooted_here = !o.code;  // calls that need not wait for rank 0
    CHECK_MESSAGE((o.code == errc::revoked || rooted_here), o.story);
    if (o.code) CHECK_MESSAGE(o.tells("the job is over"), o.story);
    co_await c.released();
  }
  auto const later = co_await outcome_of(g.barrier());
  CHECK_MESSAGE(later.code == errc::revoked, later.story);
  auto const next = co_await g.rebuild();
  auto const soon = op_options().tag(99).deadline(5ms);
  auto const old = co_await outcome_of(next.recv(any_source, soon));
  CHECK_MESSAGE(old.code == errc::timed_out, old.story);  // of another epoch
  auto t = tensor::full(dtype::i32, {1}, me);
  co_await next.all_reduce(t, reduction::max);
  CHECK(t.item<std::int32_t>(0) == w.size() - 1);
}

// One member leaves: the others are told, by whatever they call.
asio::awaitable<void> leave(world w) {
  static auto const calls = collective_calls();
  auto const members = rank_group::consecutive(world_rank(0), w.size());
  auto const g = co_await make_group(w, members, group_options().name("left").deadline(hang));
  if (w.rank().value() == 1) {
    co_await g.close();
  } else {
    std::uint64_t channel = 1;
    for (auto const& c : calls) {
      auto const waiting = c.start(g.channel(channel++), op_options());
      auto const o = co_await waiting.end();
      CHECK_MESSAGE(o.code == errc::group_closed, c.form, ": ", o.story);
      CHECK_MESSAGE(o.tells("rank 1"), c.form, ": ", o.story);
    }
  }
  co_await w.group().barrier();
}

}  // namespace

TEST_CASE("a cancelled wait ends once, before, during and after its operation; peers go on") {
  for (int n : {2, 3, 5}) run(n, cancel_collectives);
}
TEST_CASE("a cancelled receive is withdrawn and leaves its message to the next one") {
  for (int n : {1, 2, 3, 5}) run_everywhere(n, withdraw);
}
TEST_CASE("a cancelled send is sent all the same") {
  for (int n : {1, 2, 3}) run(n, cancel_sends);
}
TEST_CASE("every deadline that passes is told, with who is missing, and the group goes on") {
  for (int n : {2, 3}) run(n, deadlines);
}
TEST_CASE("a revoked group ends every operation of every member, and late messages are dropped") {
  for (int n : {2, 3, 5}) run_everywhere(n, revoke_all);
}
TEST_CASE("a member that leaves is told to all that need it") {
  for (int n : {2, 3, 5}) run(n, leave);
}
