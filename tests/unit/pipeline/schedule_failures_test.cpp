// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Schedules that are refused, and runs that an action ends.
#include <doctest/doctest.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <hocket/parallel/model_parallel.hpp>
#include <hocket/pipeline/make_schedule.hpp>
#include <hocket/pipeline/run_schedule.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../parallel/programs.hpp"
#include "stage_math.hpp"

using namespace hocket;
using namespace std::chrono_literals;
using test::outcome;
using test::run_everywhere;
using test::stage_step;
namespace asio = boost::asio;

namespace {

asio::awaitable<tensor> pass(int stage, int m, tensor x) {
  if (!x.defined()) x = tensor::full(dtype::i64, {m + 1, 2}, m);
  co_return stage_step(x, stage);
}
asio::awaitable<void> nothing(int, int) { co_return; }

stage_actions passing() {
  return stage_actions().forward(pass).backward(pass).backward_input(pass).backward_weight(nothing);
}

asio::awaitable<outcome> end_of(asio::awaitable<schedule_report> run) {
  outcome o;
  try {
    co_await std::move(run);
  } catch (boost::system::system_error const& e) {
    o.code = e.code();
    o.story = e.what();
  }
  co_return o;
}

// Two ranks; the second one's list is as given.
schedule two_ranks(std::vector<action> second) {
  return {"own", {0, 1}, 1, {{action::parse("0F0"), action::parse("0SEND_F0")}, std::move(second)}};
}

asio::awaitable<void> refused(world w) {
  auto const g = w.group();
  std::vector<action> backwards{action::parse("1F0"), action::parse("1RECV_F0")};
  auto bad = co_await end_of(run_schedule(g, two_ranks(backwards), passing()));
  CHECK(bad.code == errc::invalid_argument);
  CHECK(bad.says("1F0"));
  auto few = co_await end_of(run_schedule(g, make_schedule("1f1b", 3, 4), passing()));
  CHECK(few.code == errc::invalid_argument);
  CHECK(few.says("schedule 1f1b is for 3 ranks"));
  auto const no_weights = stage_actions().forward(pass).backward_input(pass);
  auto missing = co_await end_of(run_schedule(g, make_schedule("zb-h1", 2, 4), no_weights));
  CHECK(missing.code == errc::invalid_argument);
  CHECK(missing.says("there is no coroutine for W"));
  auto const own = make_schedule("1f1b", 2, 4 + w.rank().value());
  auto apart = co_await end_of(run_schedule(g, own, passing()));
  CHECK(apart.code == errc::mismatch);
  CHECK(apart.says("different schedules"));
  // The group is none the worse.
  auto well = co_await end_of(run_schedule(g, make_schedule("zb-h1", 2, 4), passing()));
  CHECK(!well.code);
}

asio::awaitable<void> user_actions(world w) {
  std::vector<std::string> seen;
  auto const note = [&seen](int stage, int m) -> asio::awaitable<void> {
    seen.push_back(std::to_string(stage) + "UNSHARD" + std::to_string(m));
    co_return;
  };
  std::vector<action> second{action(1, "UNSHARD"), action::parse("1RECV_F0"), action::parse("1F0"),
                             action(1, "UNSHARD", 0)};
  auto const plan = two_ranks(second);
  auto running = run_schedule(w.group(), plan, passing().user("UNSHARD", note));
  auto const report = co_await std::move(running);
  if (w.rank().value() == 0) CHECK(seen.empty());
  if (w.rank().value() == 1) CHECK(seen == std::vector<std::string>({"1UNSHARD-1", "1UNSHARD0"}));
  CHECK(report.timeline.size() == plan.actions(w.rank().value()).size());
}

class broken : public std::runtime_error {
 public:
  broken() : std::runtime_error("out of luck") {}
};

asio::awaitable<void> sleep_long() {
  asio::steady_timer timer(co_await asio::this_coro::executor, 100s);
  co_await timer.async_wait(asio::use_awaitable);
}

// One action throws; the others wait for what never comes, or sleep.
asio::awaitable<tensor> pass_or_throw(int stage, int m, tensor x) {
  if (stage == 1 && m == 2) throw broken();
  if (stage == 0 && m == 5) co_await sleep_long();
  if (!x.defined()) x = tensor::full(dtype::i64, {m + 1, 2}, m);
  co_return stage_step(x, stage);
}

asio::awaitable<void> one_action_throws(world w) {
  auto const actions = passing().forward(pass_or_throw);
  for (auto const* const name : {"gpipe", "1f1b"}) {
    auto const plan = make_schedule(name, w.size(), 8);
    auto o = co_await end_of(run_schedule(w.group(), plan, actions));
    CHECK(o.code == errc::peer_failed);
    CHECK(o.says("rank 1 of world"));
    CHECK(o.says("failed in 1F2 of schedule " + std::string(name)));
    CHECK(o.says("out of luck"));
  }
  auto well =
      co_await end_of(run_schedule(w.group(), make_schedule("1f1b", w.size(), 8), passing()));
  CHECK(!well.code);
}

// The group is revoked while one rank sleeps in an action and the others wait for it.
asio::awaitable<void> revoked_meanwhile(world w) {
  auto const me = w.rank().value();
  auto const g = w.group();
  auto const forward = [](int stage, int m, tensor x) -> asio::awaitable<tensor> {
    if (stage == 1 && m == 1) co_await sleep_long();
    if (!x.defined()) x = tensor::full(dtype::i64, {m + 1, 2}, m);
    co_return stage_step(x, stage);
  };
  asio::steady_timer timer(co_await asio::this_coro::executor, 30ms);
  if (me == w.size() - 1)
    timer.async_wait([g](boost::system::error_code) { g.revoke("it is enough"); });
  auto const begun = std::chrono::steady_clock::now();
  auto o = co_await end_of(
      run_schedule(g, make_schedule("gpipe", w.size(), 4), passing().forward(forward)));
  CHECK(o.code == errc::revoked);
  CHECK(std::chrono::steady_clock::now() - begun < 50s);  // the action sleeps for 100 s
}

// Context-parallel ranks of one stage are in a collective when one of them fails.
asio::awaitable<void> a_peer_throws(world w) {
  axis_sizes sizes;
  sizes.cp = 2;
  sizes.pp = 2;
  auto state = co_await ParallelState::init(w, sizes);
  auto const cp = state.cp_group();
  auto const forward = [cp](int stage, int m, tensor x) -> asio::awaitable<tensor> {
    if (stage == 1 && m == 1 && cp.rank().value() == 1) throw broken();
    co_await cp.barrier();
    if (!x.defined()) x = tensor::full(dtype::i64, {m + 1, 2}, m);
    co_return stage_step(x, stage);
  };
  auto const actions = passing().forward(forward);
  auto o = co_await end_of(run_schedule(state, make_schedule("1f1b", 2, 6), actions));
  CHECK(o.code == errc::peer_failed);
  CHECK(o.says("out of luck"));
  co_await w.group().barrier();
  co_await destroy_model_parallel(state);
}

}  // namespace

TEST_CASE("bad schedules, other numbers of ranks and missing coroutines are refused before a run") {
  run_everywhere(2, refused);
}
TEST_CASE("user-defined actions are run where they stand") { run_everywhere(2, user_actions); }
TEST_CASE("an action that throws ends the run on all ranks, with its rank, name and story") {
  for (int n : {2, 4}) run_everywhere(n, one_action_throws);
}
TEST_CASE("a revocation ends the actions that are under way on every rank") {
  run_everywhere(3, revoked_meanwhile);
}
TEST_CASE("an action that throws ends the run on the peers of its stage, too") {
  run_everywhere(4, a_peer_throws);
}
