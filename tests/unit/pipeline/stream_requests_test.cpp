// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Requests of different shapes through the stages of a pipeline.
#include <doctest/doctest.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <hocket/async/task_group.hpp>
#include <hocket/parallel/model_parallel.hpp>
#include <hocket/pipeline/pipeline.hpp>
#include <mutex>
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

asio::awaitable<tensor> step(stage_request r, tensor x) { co_return stage_step(x, r.stage()); }

tensor input(int i) { return tensor::arange(dtype::i64, {i % 5 + 1, 7 - i % 3}, 31 * i); }

asio::awaitable<void> sleep_for(std::chrono::milliseconds t) {
  asio::steady_timer timer(co_await asio::this_coro::executor, t);
  co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<void> many_in_flight(world w) {
  axis_sizes sizes;
  sizes.pp = w.size();
  auto state = co_await ParallelState::init(w, sizes);
  pipeline pipe(state, step);
  std::vector<work<tensor>> results;
  if (state.is_first_pp_stage())
    for (int i = 0; i < 40; ++i) results.push_back(pipe.submit(input(i)));
  pipe.close();
  co_await pipe.run();
  for (int i = 0; i < static_cast<int>(results.size()); ++i) {
    auto got = co_await std::move(results[static_cast<std::size_t>(i)]);
    CHECK(equal(got, all_stages(input(i), w.size())));
  }
  CHECK(pipe.report().calls == 40);
  CHECK(pipe.report().open == 0);
  auto late = co_await outcome_of(pipe.submit(input(0)));
  CHECK(late.code == (state.is_first_pp_stage() ? errc::group_closed : errc::invalid_argument));
  co_await destroy_model_parallel(state);
}

// The program goes on beside the pipeline, and submits what comes back, again.
asio::awaitable<void> client(pipeline& pipe, int stages, int first, int count) {
  for (int i = first; i < first + count; ++i) {
    auto x = input(i);
    for (int round = 0; round < 3; ++round) x = co_await pipe.submit(x);
    auto right = input(i);
    for (int round = 0; round < 3; ++round) right = all_stages(right, stages);
    CHECK(equal(x, right));
  }
}

asio::awaitable<void> clients(world w) {
  pipeline pipe(w.group(), step);
  task_group tasks(w.get_executor());
  tasks.spawn(pipe.run());
  if (w.rank().value() == 0) {
    task_group all(w.get_executor());
    for (int c = 0; c < 4; ++c) all.spawn(client(pipe, w.size(), 10 * c, 5));
    co_await all.join();
    pipe.close();
  }
  co_await tasks.join();
}

// A request of a low priority waits for those of a high one that came later.
asio::awaitable<void> priorities(world w) {
  std::vector<std::uint64_t> order;
  auto note_order = [&order](stage_request r, tensor x) -> asio::awaitable<tensor> {
    order.push_back(r.id());
    co_return stage_step(x, r.stage());
  };
  pipeline pipe(w.group(), note_order);
  std::vector<work<tensor>> results;
  if (w.rank().value() == 0)
    for (int i = 0; i < 6; ++i)
      results.push_back(pipe.submit(
          input(i), submit_options().priority(i % 3).id(static_cast<std::uint64_t>(10 + i))));
  pipe.close();
  co_await pipe.run();
  if (w.rank().value() == 0) CHECK(order == std::vector<std::uint64_t>({12, 15, 11, 14, 10, 13}));
  for (auto& r : results) co_await std::move(r);
  CHECK(order.size() == 6);
}

asio::awaitable<tensor> sleepy(stage_request r, tensor x) {
  auto const t = r.note().empty() ? 0ms : 20ms;
  co_await sleep_for(t);
  co_return stage_step(x, r.stage());
}

// Two calls at once: a quick request passes a slow one, unless the order of results is asked for.
asio::awaitable<void> order_of_results(world w) {
  for (bool const in_order : {false, true}) {
    pipeline pipe(w.group(), sleepy,
                  pipeline_options().concurrent(2).in_order(in_order).number(in_order ? 1 : 0));
    work<tensor> slow;
    work<tensor> quick;
    if (w.rank().value() == 0) {
      slow = pipe.submit(input(1), submit_options().note("slow"));
      quick = pipe.submit(input(2));
    }
    task_group tasks(w.get_executor());
    tasks.spawn(pipe.run());
    pipe.close();
    if (w.rank().value() == 0) {
      auto second = co_await std::move(quick);
      CHECK(slow.ready() == in_order);
      CHECK(equal(second, all_stages(input(2), w.size())));
      co_await std::move(slow);
    }
    co_await tasks.join();
  }
}

// The first stage hands something to the last one, past the others; the second one, too.
asio::awaitable<tensor> skipping(stage_request r, tensor x) {
  int const last = r.stages() - 1;
  if (r.stage() < last) r.skip_to(last, stage_step(x, 100 + r.stage()));
  if (!r.is_last()) co_return stage_step(x, r.stage());
  auto y = stage_step(x, r.stage());
  for (int from = last - 1; from >= 0; --from) {
    if (r.note() == "drop" && from == 0) continue;
    auto skipped = co_await r.skip_from(from);
    for (std::int64_t i = 0; i < y.numel(); ++i)
      y.data<std::int64_t>()[i] += skipped.const_data<std::int64_t>()[i];
  }
  auto none = co_await outcome_of(r.skip_from(last));
  CHECK(none.code == errc::invalid_argument);
  co_return y;
}

tensor skipping_alone(tensor x, int stages, bool drop) {
  std::vector<tensor> skipped;
  for (int s = 0; s + 1 < stages; ++s) {
    skipped.push_back(stage_step(x, 100 + s));
    x = stage_step(x, s);
  }
  x = stage_step(x, stages - 1);
  for (int s = drop ? 1 : 0; s + 1 < stages; ++s)
    for (std::int64_t i = 0; i < x.numel(); ++i)
      x.data<std::int64_t>()[i] +=
          skipped[static_cast<std::size_t>(s)].const_data<std::int64_t>()[i];
  return x;
}

asio::awaitable<void> skip_connections(world w) {
  pipeline pipe(w.group(), skipping);
  std::vector<work<tensor>> results;
  if (w.rank().value() == 0)
    for (int i = 0; i < 8; ++i)
      results.push_back(pipe.submit(input(i), submit_options().note(i % 2 ? "drop" : "")));
  pipe.close();
  co_await pipe.run();
  for (int i = 0; i < static_cast<int>(results.size()); ++i) {
    auto got = co_await std::move(results[static_cast<std::size_t>(i)]);
    CHECK(equal(got, skipping_alone(input(i), w.size(), i % 2 == 1)));
  }
}

asio::awaitable<void> numbered(world w) {
  CHECK_THROWS_AS(pipeline(w.group(), stage_function()), error);
  pipeline pipe(w.group(), step);
  std::vector<work<tensor>> results;
  if (w.rank().value() == 0) {
    results.push_back(pipe.submit(input(0), submit_options().id(2)));
    for (int i = 1; i < 4; ++i) results.push_back(pipe.submit(input(i)));
  }
  pipe.close();
  co_await pipe.run();
  for (int i = 0; i < static_cast<int>(results.size()); ++i) {
    auto got = co_await std::move(results[static_cast<std::size_t>(i)]);
    CHECK(equal(got, all_stages(input(i), w.size())));
  }
}

}  // namespace

TEST_CASE("ids that a program gives are not given by the pipeline afterwards") {
  run_everywhere(2, numbered);
}
TEST_CASE("requests of different shapes give the results of one process, any number in flight") {
  for (int n : {1, 2, 3, 5}) run_everywhere(n, many_in_flight);
}
TEST_CASE("clients submit what came back, beside each other, while the pipeline runs") {
  for (int n : {2, 3}) run_everywhere(n, clients);
}
TEST_CASE("the highest priority goes first, and of equals the one that came first") {
  run_everywhere(2, priorities);
}
TEST_CASE("results come as they are ready, or in the order of the requests") {
  for (int n : {2, 3}) run_everywhere(n, order_of_results);
}
TEST_CASE("skip connections pass the stages between, and what is not taken is dropped") {
  for (int n : {2, 4}) run_everywhere(n, skip_connections);
}
