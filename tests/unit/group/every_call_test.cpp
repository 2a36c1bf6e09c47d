// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// What holds for every call of a group alike, in virtual time.
#include "every_call.hpp"

#include <doctest/doctest.h>

#include <hocket/async/promise.hpp>
#include <hocket/group/detail/group_core.hpp>
#include <stdexcept>
#include <stop_token>

#include "virtual_world.hpp"

using namespace hocket;
using namespace hocket::test;
using namespace std::chrono_literals;

namespace {

constexpr group_rank root(0);
constexpr group_rank absent(2);

call_args args(op_options const& o = {}, member at = root, std::int64_t rows = 2) {
  return {rows, at, o};
}

std::vector<process_group> group_of_three(virtual_world& v) {
  std::vector<work<process_group>> made;
  for (int r = 0; r < 3; ++r) made.push_back(make_group(v.ranks()[r], rank_group::of(0, 1, 2)));
  std::vector<process_group> all;
  for (auto const& m : made) all.push_back(m.state()->take());
  return all;
}

// Ranks 0 and 1 have called; what they wait for is rank 2.
class waiting {
 public:
  waiting(std::vector<process_group> const& g, group_call const& c, op_options const& o)
      : first(c.start(g[0], args(o, absent))), second(c.start(g[1], args(o, absent))) {}
  detail::op_ref first, second;
  [[nodiscard]] bool pending() const { return !first->settled() && !second->settled(); }
};

}  // namespace

TEST_CASE("any two different collectives are a mismatch that names both, as soon as both came") {
  virtual_world v(3);
  auto const calls = collectives();
  std::uint64_t channel = 0;
  for (auto const& most : calls)
    for (auto const& one : calls) {
      if (most.name == one.name) continue;
      int const odd = static_cast<int>(channel % 3);
      ++channel;
      CAPTURE(most.form);
      CAPTURE(one.form);
      CAPTURE(odd);
      std::vector<detail::op_ref> begun(3);
      auto const call = [&](int r) {
        auto const g = v.group(r).channel(channel);
        begun[static_cast<std::size_t>(r)] = (r == odd ? one : most).start(g, args());
      };
      call(odd);
      CHECK_FALSE(begun[static_cast<std::size_t>(odd)]->settled());
      call((odd + 1) % 3);  // the third one is not needed to know
      for (int r : {odd, (odd + 1) % 3}) {
        auto const e = over(begun[static_cast<std::size_t>(r)]);
        CHECK(e.code == errc::mismatch);
        CHECK_MESSAGE(e.tells("rank " + std::to_string(odd) + " " + one.name), e.story);
        CHECK_MESSAGE(e.tells("rank " + std::to_string((odd + 1) % 3) + " " + most.name), e.story);
        CHECK_MESSAGE(e.tells("world[0,1,2] ch " + std::to_string(channel) + " #0: "), e.story);
        CHECK_MESSAGE(e.tells("(every_call.hpp:"), e.story);
      }
      call((odd + 2) % 3);
      CHECK(over(begun[static_cast<std::size_t>((odd + 2) % 3)]).code == errc::mismatch);
      for (int r = 0; r < 3; ++r) v.group(r).channel(channel).close_channel();
    }
  CHECK(channel == 13 * 12);
}

TEST_CASE("every call past its deadline, its own or its group's, says who has not come") {
  virtual_world v(3);
  auto const g = group_of_three(v);
  for (bool by_group : {false, true})
    for (auto const& c : all_calls()) {
      CAPTURE(by_group);
      CAPTURE(c.form);
      for (int r = 0; r < 2; ++r)
        g[static_cast<std::size_t>(r)].set_deadline(by_group ? 100ms : 1h);
      waiting const w(g, c, by_group ? op_options() : op_options().deadline(100ms));
      v.pass(99ms);
      CHECK(w.pending());
      v.pass(1ms);
      for (auto const& op : {w.first, w.second}) {
        auto const e = over(op);
        CHECK(e.code == errc::timed_out);
        CHECK_MESSAGE(e.tells("rank 2"), e.story);
        if (c.name == "monitored_barrier") continue;  // it tells whose deadline it was
        CHECK_MESSAGE(e.tells("100 ms"), e.story);
        CHECK_MESSAGE(e.tells(" " + c.name), e.story);
      }
    }
}

TEST_CASE("a deadline of no time, or that is over before the call, is told without waiting") {
  virtual_world v(3);
  auto const g = group_of_three(v);
  for (auto const limit : {0ns, -1ns, clock::duration::min()})
    for (auto const& c : all_calls()) {
      CAPTURE(c.form);
      waiting const w(g, c, op_options().deadline(limit));
      CHECK(over(w.first).code == errc::timed_out);
      CHECK(over(w.second).code == errc::timed_out);
    }
}

TEST_CASE("a member that is lost or closes ends every call that needs it, pending or to come") {
  for (auto const code : {errc::peer_lost, errc::group_closed})
    for (auto const& c : all_calls()) {
      CAPTURE(c.form);
      virtual_world v(3);
      auto const g = group_of_three(v);
      waiting const before(g, c, {});
      CHECK(before.pending());
      g[2].core()->endpoint->leave(code, "its host is gone");
      waiting const after(g, c, {});
      for (auto const& op : {before.first, before.second, after.first, after.second}) {
        auto const e = over(op);
        CHECK(e.code == code);
        CHECK_MESSAGE(e.tells("rank 2 is gone: its host is gone"), e.story);
      }
      g[0].send(tensor::zeros(dtype::u8, {1}), group_rank(1));
      CHECK(g[1].recv(group_rank(0)).ready());  // the others still reach each other
      auto const world = v.group(2).barrier();
      CHECK_FALSE(world.ready());  // and so do all in another group
      v.group(0).barrier();
      v.group(1).barrier();
      CHECK_FALSE(now(world).code);
    }
}

TEST_CASE("several groups with every call pending are revoked one after another, on any rank") {
  virtual_world v(3);
  std::vector<std::vector<process_group>> groups;
  std::vector<detail::op_ref> pending;
  for (int i = 0; i < 3; ++i) groups.push_back(group_of_three(v));
  for (auto const& g : groups)
    for (auto const& c : all_calls()) {
      auto const id = pending.size() + 1;
      waiting const w({g[0].channel(id), g[1].channel(id)}, c, {});
      pending.push_back(w.first);
      pending.push_back(w.second);
    }
  // Each rank in an order of its own.
  for (std::size_t i = 0; i < 3; ++i) groups[i][i].revoke("the job is over");
  for (std::size_t i = 0; i < 3; ++i) groups[2 - i][i].revoke("once more");
  for (auto const& op : pending) {
    auto const e = over(op);
    CHECK(e.code == errc::revoked);
    CHECK_MESSAGE(e.tells("the job is over"), e.story);
  }
  std::vector<work<>> met;
  for (int r = 0; r < 3; ++r) met.push_back(v.group(r).barrier());
  for (auto const& m : met) CHECK_FALSE(now(m).code);
}

TEST_CASE("a wait that is cancelled before, during or after its call ends once, and peers go on") {
  for (auto const& c : all_collectives()) {
    if (c.name == "monitored_barrier") continue;  // that one is over for all
    for (int when = 0; when < 3; ++when) {
      CAPTURE(c.form);
      CAPTURE(when);
      virtual_world v(3);
      std::stop_source stop;
      if (when == 0) stop.request_stop();
      auto const mine = c.start(v.group(1), args(op_options().stop(stop.get_token())));
      CHECK(mine->settled() == (when == 0));
      if (when == 1) stop.request_stop();
      auto const a = c.start(v.group(0), args());
      auto const b = c.start(v.group(2), args());
      if (when == 2) stop.request_stop();
      CHECK_FALSE(over(a).code);
      CHECK_FALSE(over(b).code);
      CHECK(mine->finished());
      CHECK(over(mine).code ==
            (when == 2 ? boost::system::error_code() : boost::asio::error::operation_aborted));
      CHECK(mine->engine_failure() == nullptr);  // it took part all the same
    }
  }
}

TEST_CASE("a receive that is cancelled in time takes no message, a send still gives its own") {
  std::stop_source stopped;
  stopped.request_stop();
  auto const never = op_options().stop(stopped.get_token());
  for (std::size_t k = 0; k < receives().size(); ++k) {
    virtual_world v(2);
    auto const c = receives()[k];
    auto const s = sends()[k == 2 ? 1 : 0];
    CAPTURE(c.form);
    auto const early = c.start(v.group(0), args(never, group_rank(1)));
    CHECK(over(early).code == boost::asio::error::operation_aborted);
    CHECK(early->finished());
    auto const sent = s.start(v.group(1), args(never, group_rank(0)));
    CHECK(over(sent).code == boost::asio::error::operation_aborted);
    CHECK_FALSE(sent->finished());
    auto const got = c.start(v.group(0), args({}, group_rank(1)));
    CHECK_FALSE(over(got).code);
    CHECK(sent->finished());
    CHECK(sent->engine_failure() == nullptr);
  }
}

TEST_CASE("calls without elements complete, and every call takes one place in the order") {
  for (int n : {1, 2, 4})
    for (std::int64_t rows : {0, 1}) {
      virtual_world v(n);
      std::uint64_t sequence = 0;
      for (auto const& c : all_collectives()) {
        CAPTURE(c.form);
        std::vector<detail::op_ref> begun;
        for (int r = 0; r < n; ++r) begun.push_back(c.start(v.group(r), args({}, root, rows)));
        for (auto const& op : begun) {
          CHECK_MESSAGE(!over(op).code, over(op).story);
          CHECK(op->info().sequence == sequence);
        }
        ++sequence;
      }
    }
}

TEST_CASE("a rank whose own part of a call fails is named to all peers, and the group goes on") {
  virtual_world v(3);
  promise<> broken(v.ranks()[0].get_executor());
  auto const after = op_options().after(event(broken.get_work()));
  broken.fail(std::make_exception_ptr(std::runtime_error("bad kernel")));
  for (auto const& c : all_collectives()) {
    CAPTURE(c.form);
    std::vector<detail::op_ref> begun;
    for (int r = 0; r < 3; ++r)
      begun.push_back(c.start(v.group(r), args(r == 1 ? after : op_options())));
    for (std::size_t r = 0; r < 3; ++r) {
      auto const e = over(begun[r]);
      CHECK(e.code == errc::peer_failed);
      CHECK_MESSAGE(e.tells("bad kernel"), e.story);
      if (r != 1) CHECK_MESSAGE(e.tells("rank 1 could not take part"), e.story);
    }
  }
  std::vector<work<>> met;
  for (int r = 0; r < 3; ++r) met.push_back(v.group(r).barrier());
  for (auto const& m : met) CHECK_FALSE(now(m).code);
}
