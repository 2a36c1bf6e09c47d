// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Requests that end early: by their stage function, their owner, or their deadline.
#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <hocket/async/task_group.hpp>
#include <hocket/parallel/model_parallel.hpp>
#include <hocket/pipeline/pipeline.hpp>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "../parallel/programs.hpp"
#include "stage_math.hpp"

using namespace hocket;
using namespace std::chrono_literals;
using test::all_stages;
using test::outcome_of;
using test::run_everywhere;
using test::stage_step;
namespace asio = boost::asio;

namespace {

tensor input(int i) { return tensor::arange(dtype::i64, {i % 5 + 1, 7 - i % 3}, 31 * i); }

asio::awaitable<void> sleep_for(std::chrono::milliseconds t) {
  asio::steady_timer timer(co_await asio::this_coro::executor, t);
  co_await timer.async_wait(asio::use_awaitable);
}

bool is_at(stage_request const& r, std::string const& what) {
  return r.note() == what + std::to_string(r.stage());
}

// "throw2": stage 2 throws; "sleep1": stage 1 sleeps until it is cancelled. Every stage but the
// last hands something to the last one, which must be dropped with the request.
asio::awaitable<tensor> step(stage_request r, tensor x) {
  if (!r.is_last()) r.skip_to(r.stages() - 1, x);
  if (is_at(r, "throw"))
    throw error(errc::out_of_memory, "no room for " + std::to_string(x.numel()));
  if (is_at(r, "sleep")) co_await sleep_for(100s);
  co_return stage_step(x, r.stage());
}

asio::awaitable<void> failing(world w) {
  pipeline pipe(w.group(), step);
  std::vector<work<tensor>> results;
  int const n = w.size();
  if (w.rank().value() == 0)
    for (int i = 0; i < 4 * n; ++i) {
      auto const note = i % 3 == 1 ? "throw" + std::to_string(i % n) : std::string();
      results.push_back(pipe.submit(input(i), submit_options().note(note)));
    }
  pipe.close();
  co_await pipe.run();
  for (int i = 0; i < static_cast<int>(results.size()); ++i) {
    auto const w2 = results[static_cast<std::size_t>(i)];
    auto o = co_await outcome_of(w2);
    if (i % 3 != 1) {
      CHECK(!o.code);
      auto got = co_await work<tensor>(w2);
      CHECK(equal(got, all_stages(input(i), n)));
      continue;
    }
    CHECK(o.code == errc::out_of_memory);
    CHECK(o.says("request " + std::to_string(i + 1) + " of " + w.group().label()));
    CHECK(o.says("stream_endings_test.cpp"));
    CHECK(o.says("stage " + std::to_string(i % n) + " failed: no room for"));
  }
  CHECK(pipe.report().open == 0);
}

// A tensor that says when its memory is free again.
tensor watched(std::shared_ptr<std::atomic<int>> alive) {
  auto owner = std::shared_ptr<std::vector<std::int64_t>>(new std::vector<std::int64_t>(12, 5),
                                                          [alive](std::vector<std::int64_t>* v) {
                                                            delete v;
                                                            --*alive;
                                                          });
  ++*alive;
  return tensor::borrow(std::span(*owner), {3, 4}, owner);
}

// Cancelled in the stage it has come to; behind it two that have not begun, one of them cancelled.
asio::awaitable<void> cancelled_at(pipeline& pipe, int stage) {
  auto alive = std::make_shared<std::atomic<int>>(0);
  auto asleep = pipe.submit(watched(alive), submit_options().note("sleep" + std::to_string(stage)));
  auto queued = pipe.submit(watched(alive));
  auto well = pipe.submit(watched(alive));
  co_await sleep_for(10ms);
  CHECK(!asleep.ready());
  queued.get_canceller().cancel();
  asleep.get_canceller().cancel();
  auto first = co_await outcome_of(std::move(asleep));
  CHECK(first.code == operation_aborted());
  auto second = co_await outcome_of(std::move(queued));
  CHECK(second.code == operation_aborted());
  co_await std::move(well);
  for (int i = 0; i < 2000 && *alive > 0; ++i) co_await sleep_for(1ms);
  CHECK(*alive == 0);
}

asio::awaitable<void> early_ends(pipeline& pipe, int last) {
  for (int s = 0; s <= last; ++s) co_await cancelled_at(pipe, s);

  submit_options late;
  late.note("sleep" + std::to_string(last)).deadline(10ms);
  auto expired = co_await outcome_of(pipe.submit(input(1), late));
  CHECK(expired.code == errc::timed_out);
  CHECK(expired.says("had no result when its deadline passed"));
  auto at_once = co_await outcome_of(pipe.submit(input(1), submit_options().deadline(0ms)));
  CHECK(at_once.code == errc::timed_out);

  std::stop_source stop;
  submit_options stoppable;
  stoppable.note("sleep" + std::to_string(last)).stop(stop.get_token());
  auto stopped = pipe.submit(input(2), stoppable);
  co_await sleep_for(5ms);
  stop.request_stop();
  auto o = co_await outcome_of(std::move(stopped));
  CHECK(o.code == operation_aborted());
  auto before = co_await outcome_of(pipe.submit(input(2), stoppable));
  CHECK(before.code == operation_aborted());

  submit_options slow;
  slow.note("sleep" + std::to_string(last)).id(77);
  auto same = pipe.submit(input(3), slow);
  auto twice = co_await outcome_of(pipe.submit(input(3), submit_options().id(77)));
  CHECK(twice.code == errc::invalid_argument);
  CHECK(twice.says("a request of this id is open"));
  same.get_canceller().cancel();
  auto ended = co_await outcome_of(std::move(same));
  CHECK(ended.code == operation_aborted());
  auto wide = co_await outcome_of(pipe.submit(input(3), submit_options().id(1ull << 48)));
  CHECK(wide.code == errc::invalid_argument);
  pipe.close();
}

asio::awaitable<void> cancelling(world w) {
  pipeline pipe(w.group(), step);
  task_group tasks(w.get_executor());
  tasks.spawn(pipe.run());
  if (w.rank().value() == 0) co_await early_ends(pipe, w.size() - 1);
  co_await tasks.join();
  CHECK(pipe.report().open == 0);
  CHECK(pipe.report().failed == 0);
}

// The run of one stage is cancelled: every stage ends, and every open request.
asio::awaitable<void> run_is_cancelled(world w) {
  pipeline pipe(w.group(), step);
  task_group tasks(w.get_executor());
  tasks.spawn(pipe.run());
  work<tensor> open;
  if (w.rank().value() == 0) open = pipe.submit(input(0), submit_options().note("sleep0"));
  co_await sleep_for(5ms);
  if (w.rank().value() == w.size() - 1) tasks.cancel();
  bool const is_canceller = w.rank().value() == w.size() - 1;
  auto o = co_await outcome_of(tasks.join());
  if (is_canceller) CHECK(!o.code);
  if (!is_canceller) CHECK(o.code == errc::revoked);
  if (w.rank().value() != 0) co_return;
  auto r = co_await outcome_of(std::move(open));
  CHECK(r.code ==
        (is_canceller ? make_error_code(errc::group_closed) : make_error_code(errc::revoked)));
}

}  // namespace

TEST_CASE("a stage function that throws ends its request alone, and is named") {
  for (int n : {1, 2, 4}) run_everywhere(n, failing);
}
TEST_CASE("a request that is cancelled, or late, frees its tensors on every stage") {
  for (int n : {1, 2, 3}) run_everywhere(n, cancelling);
}
TEST_CASE("a run that is cancelled ends all others and what is open") {
  for (int n : {2, 3}) run_everywhere(n, run_is_cancelled);
}
