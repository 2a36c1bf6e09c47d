// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Pipelines whose stages are context-parallel: each rank hands its shard to its peer in the next
// stage, and the ranks of a stage work on the same request at the same time.
#include <doctest/doctest.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <hocket/async/task_group.hpp>
#include <hocket/parallel/context_parallel.hpp>
#include <hocket/parallel/model_parallel.hpp>
#include <hocket/pipeline/pipeline.hpp>
#include <string>
#include <vector>

#include "../parallel/programs.hpp"
#include "stage_math.hpp"

using namespace hocket;
using namespace std::chrono_literals;
using test::outcome_of;
using test::run_everywhere;
namespace asio = boost::asio;

namespace {

constexpr int layers = 4;
constexpr int steps = 8;
constexpr std::int64_t width = 64;

// Every token sees all tokens: wrapping integers, so that any order of sums is exact.
tensor attend(tensor const& own, tensor const& all, int layer) {
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(width));
  auto const* const a = all.const_data<std::uint64_t>();
  for (std::int64_t i = 0; i < all.numel(); ++i) sums[static_cast<std::size_t>(i % width)] += a[i];
  auto out = tensor::empty(dtype::u64, own.shape());
  auto const* const x = own.const_data<std::uint64_t>();
  for (std::int64_t i = 0; i < own.numel(); ++i)
    out.data<std::uint64_t>()[i] =
        3 * x[i] + static_cast<std::uint64_t>(layer) + sums[static_cast<std::size_t>(i % width)];
  return out;
}

tensor add(tensor const& a, tensor const& b) {
  auto out = tensor::empty(dtype::u64, a.shape());
  for (std::int64_t i = 0; i < a.numel(); ++i)
    out.data<std::uint64_t>()[i] =
        a.const_data<std::uint64_t>()[i] + b.const_data<std::uint64_t>()[i];
  return out;
}

tensor latent(std::int64_t length) {
  return tensor::arange(dtype::u64, {length, width}, 10 * length);
}

tensor alone(tensor x) {
  for (int step = 0; step < steps; ++step) {
    auto v = x;
    for (int l = 0; l < layers; ++l) v = attend(v, v, l);
    x = add(x, v);
  }
  return x;
}

// The layers of one stage; the note says how long the whole sequence is.
asio::awaitable<tensor> velocity(stage_request r, tensor own) {
  auto const length = std::stoll(r.note());
  auto const plan = make_split_plan(layout::balanced, shape(length, width), r.peers().size(), 0);
  int const here = layers / r.stages();
  for (int l = 0; l < here; ++l) {
    auto all = co_await cat_outputs_cp(own, plan, r.peers());
    own = attend(own, all, r.stage() * here + l);
  }
  co_return own;
}

// One input on its way through all steps, at the first stage: round the ring of stages each time.
asio::awaitable<void> denoise(ParallelState s, pipeline& pipe, std::int64_t length) {
  auto const plan = make_split_plan(layout::balanced, shape(length, width), s.cp_size(), 0);
  auto own = split_inputs_cp(latent(length), plan, s.cp_group());
  for (int step = 0; step < steps; ++step) {
    submit_options o;
    o.id(static_cast<std::uint64_t>(100 * length + step)).note(std::to_string(length));
    auto v = co_await pipe.submit(own, o);
    own = add(own, v);
  }
  auto const channel = s.cp_group().channel(static_cast<std::uint64_t>(length));
  auto whole = co_await cat_outputs_cp(own, plan, channel);
  channel.close_channel();
  CHECK(equal(whole, alone(latent(length))));
}

asio::awaitable<void> magi(world w) {
  axis_sizes sizes;
  sizes.cp = 2;
  sizes.pp = w.size() / 2;
  auto s = co_await ParallelState::init(w, sizes);
  pipeline pipe(s, velocity);
  task_group tasks(w.get_executor());
  tasks.spawn(pipe.run());
  if (s.is_first_pp_stage()) {
    task_group inputs(w.get_executor());
    for (std::int64_t const length : {101, 67}) inputs.spawn(denoise(s, pipe, length));
    co_await inputs.join();
    pipe.close();
  }
  co_await tasks.join();
  CHECK(pipe.report().calls == 2 * steps);
  co_await destroy_model_parallel(s);
}

asio::awaitable<void> sleep_for(std::chrono::milliseconds t) {
  asio::steady_timer timer(co_await asio::this_coro::executor, t);
  co_await timer.async_wait(asio::use_awaitable);
}

// Notes: "throw S R": rank R of stage S throws, when its peers are on their way into a collective;
// "sleep S": all of stage S sleep.
asio::awaitable<tensor> troubled(stage_request r, tensor x) {
  auto const here = std::to_string(r.stage());
  auto const me = std::to_string(r.peers().rank().value());
  auto sum = tensor::full(dtype::i64, {1}, 1);
  if (r.note() == "throw " + here + " " + me) throw error(errc::out_of_memory, "no room");
  co_await r.peers().all_reduce(sum);
  if (r.note() == "sleep " + here) co_await sleep_for(100s);
  co_await r.peers().all_reduce(sum);
  auto y = test::stage_step(x, r.stage());
  y.data<std::int64_t>()[0] += sum.item<std::int64_t>(0);
  co_return y;
}

tensor untroubled(tensor x, int stages, int peers) {
  for (int s = 0; s < stages; ++s) {
    x = test::stage_step(x, s);
    x.data<std::int64_t>()[0] += peers * peers;
  }
  return x;
}

std::string note_of(int i, int stages, int peers) {
  if (i % 3 != 1) return "";
  return "throw " + std::to_string(i / 3 % stages) + " " + std::to_string(i / 3 / stages % peers);
}

asio::awaitable<void> one_rank_throws(world w) {
  axis_sizes sizes;
  sizes.cp = 2;
  sizes.pp = 2;
  auto s = co_await ParallelState::init(w, sizes);
  pipeline pipe(s, troubled, pipeline_options().in_flight(5));
  std::vector<work<tensor>> results;
  constexpr int count = 13;
  auto const input = [&](int i) {
    return tensor::arange(dtype::i64, {i + 1, 2}, 100 * s.cp_rank() + i);
  };
  if (s.is_first_pp_stage())
    for (int i = 0; i < count; ++i)
      results.push_back(
          pipe.submit(input(i), submit_options().priority(i % 4).note(note_of(i, 2, 2))));
  pipe.close();
  co_await pipe.run();
  for (int i = 0; i < static_cast<int>(results.size()); ++i) {
    auto const handle = results[static_cast<std::size_t>(i)];
    auto o = co_await outcome_of(handle);
    CHECK(o.code ==
          (i % 3 == 1 ? make_error_code(errc::out_of_memory) : boost::system::error_code()));
    if (o.code) continue;
    auto got = co_await work<tensor>(handle);
    CHECK(equal(got, untroubled(input(i), 2, 2)));
  }
  co_await w.group().barrier();
  co_await destroy_model_parallel(s);
}

// Either rank of the first stage may cancel; it is cancelled for both.
asio::awaitable<void> cancels(ParallelState s, pipeline& pipe) {
  auto const input = tensor::arange(dtype::i64, {3, 2}, 1);
  for (int stage = 0; stage < 2; ++stage)
    for (int canceller = 0; canceller < 2; ++canceller) {
      auto asleep = pipe.submit(input, submit_options().note("sleep " + std::to_string(stage)));
      auto queued = pipe.submit(input);
      co_await sleep_for(10ms);
      if (s.cp_rank() == canceller) asleep.get_canceller().cancel();
      auto o = co_await outcome_of(std::move(asleep));
      CHECK(o.code == operation_aborted());
      auto got = co_await std::move(queued);
      CHECK(equal(got, untroubled(input, 2, 2)));
    }
  pipe.close();
}

asio::awaitable<void> cancelled(world w) {
  axis_sizes sizes;
  sizes.cp = 2;
  sizes.pp = 2;
  auto s = co_await ParallelState::init(w, sizes);
  pipeline pipe(s, troubled);
  task_group tasks(w.get_executor());
  tasks.spawn(pipe.run());
  if (s.is_first_pp_stage()) co_await cancels(s, pipe);
  co_await tasks.join();
  CHECK(pipe.report().open == 0);
  co_await w.group().barrier();
  co_await destroy_model_parallel(s);
}

}  // namespace

TEST_CASE("MAGI-1's steps over cp 2 and stages in a ring give what one process gives") {
  for (int n : {2, 4, 8}) run_everywhere(n, magi);
}
TEST_CASE("one rank of a stage throws: the request ends on all, the others go on, any priority") {
  run_everywhere(4, one_rank_throws);
}
TEST_CASE("either rank of the first stage cancels a request for both, in any stage") {
  run_everywhere(4, cancelled);
}
