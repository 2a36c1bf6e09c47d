// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <hocket/parallel/model_parallel.hpp>
#include <hocket/pipeline/pp_scheduler.hpp>
#include <refusal.hpp>
#include <vector>

#include "../parallel/programs.hpp"

using namespace hocket;
using test::numbered;
using test::outcome_of;
using test::refusal;
using test::run_everywhere;
namespace asio = boost::asio;

namespace {

// What a stage does to its activations: tells which stage it was, and in which order.
tensor stage_work(tensor const& x, int stage) {
  auto y = tensor::empty(x.dtype(), x.shape());
  auto const* from = x.const_data<std::int64_t>();
  auto* to = y.data<std::int64_t>();
  for (std::int64_t i = 0; i < x.numel(); ++i) to[i] = (3 * from[i] + stage) % 1'000'000'007;
  return y;
}

tensor all_stages(tensor x, int stages) {
  for (int s = 0; s < stages; ++s) x = stage_work(x, s);
  return x;
}

// Rows cut into as equal microbatches as possible; some may have none.
asio::awaitable<void> microbatches(PPScheduler pp, std::int64_t rows, int count) {
  auto const input = tensor::arange(dtype::i64, {rows, 5}, rows);
  auto const plan = make_split_plan(layout::balanced, rows, count, 0);
  std::vector<tensor> done;
  for (int m = 0; m < count; ++m) {
    tensor x;
    if (pp.is_first()) {
      x = split(input, plan, m);
    } else {
      x = co_await pp.recv_prev_data();
    }
    CHECK(x.size(0) == plan.part_size(m));
    auto y = stage_work(x, pp.stage());
    if (pp.is_last()) {
      done.push_back(y);
    } else {
      pp.isend_next(y);
    }
  }
  if (pp.is_last()) CHECK(equal(gather(done, plan), all_stages(input, pp.stages())));
}

asio::awaitable<void> smaller_last_microbatch(world w) {
  PPScheduler pp(w.group());
  co_await microbatches(pp, 8, 3);
  co_await microbatches(pp, 7, 4);
  co_await microbatches(pp, 2, 4);
}

asio::awaitable<void> both_directions(world w) {
  PPScheduler pp(w.group());
  int const me = pp.stage();
  int const n = pp.stages();
  int const prev = (me + n - 1) % n;
  int const next = (me + 1) % n;
  pp.isend_next(numbered(dtype::f32, {5, 4}, me));
  pp.isend_prev(numbered(dtype::f32, {7, 4}, 10 + me));
  auto from_next = co_await pp.recv_next_data();
  auto from_prev = co_await pp.recv_prev_data();
  CHECK(equal(from_prev, numbered(dtype::f32, {5, 4}, prev)));
  CHECK(equal(from_next, numbered(dtype::f32, {7, 4}, 10 + next)));

  // Equal shapes: only the direction tells them apart.
  auto forward = tensor::empty(dtype::i32, {3});
  auto backward = tensor::empty(dtype::i32, {3});
  auto b = pp.irecv_next(backward);
  auto f = pp.irecv_prev(forward);
  pp.isend_next(numbered(dtype::i32, {3}, me));
  pp.isend_prev(numbered(dtype::i32, {3}, 20 + me));
  co_await std::move(f);
  co_await std::move(b);
  CHECK(equal(forward, numbered(dtype::i32, {3}, prev)));
  CHECK(equal(backward, numbered(dtype::i32, {3}, 20 + next)));
}

// One request on a channel of its own: each hop carries its own shape.
asio::awaitable<void> request(PPScheduler pp, std::int64_t length, int steps) {
  for (int step = 0; step < steps; ++step) {
    tensor x = tensor::arange(dtype::i64, {1, length, 3}, length + step);
    if (!pp.is_first()) x = co_await pp.recv_prev_data();
    CHECK(x.shape() == shape(1, length, 3));
    auto y = stage_work(x, pp.stage());
    if (!pp.is_last()) {
      pp.isend_next(y);
    } else {
      auto const input = tensor::arange(dtype::i64, {1, length, 3}, length + step);
      CHECK(equal(y, all_stages(input, pp.stages())));
    }
  }
}

asio::awaitable<void> shapes_of_requests(world w) {
  PPScheduler pp(w.group());
  co_await request(pp, 256, 1);
  co_await request(pp, 1024, 1);
  co_await request(pp, 256, 1);
  // Two in flight, begun in another order on every second stage.
  std::uint64_t const ids[] = {1024, 256};
  bool const turned = pp.stage() % 2 == 1;
  auto early = pp.on(ids[turned ? 1 : 0]);
  auto late = pp.on(ids[turned ? 0 : 1]);
  if (pp.is_first()) {
    for (int step = 0; step < 2; ++step)
      for (auto const& c : {early, late}) {
        auto const length = static_cast<std::int64_t>(c.group().channel_id());
        auto const x = tensor::arange(dtype::i64, {1, length, 3}, length + step);
        c.isend_next(stage_work(x, 0));
      }
  } else {
    auto const length_of = [](PPScheduler const& c) {
      return static_cast<std::int64_t>(c.group().channel_id());
    };
    co_await request(early, length_of(early), 2);
    co_await request(late, length_of(late), 2);
  }
  co_await pp.group().barrier();
  early.close_channel();
  late.close_channel();
}

asio::awaitable<void> queue_round_the_ring(world w) {
  PPScheduler pp(w.group());
  auto none = co_await outcome_of(pp.queue_irecv_prev_data());
  CHECK(none.code == errc::invalid_argument);
  CHECK(none.says("no receive is queued"));
  constexpr int inputs = 3;
  constexpr int steps = 4;
  // The first stage has the state of all inputs; a round trip through the stages is one step.
  for (int i = 0; i < inputs; ++i) {
    auto x = tensor::arange(dtype::i64, {2, i + 1}, 100 * i);
    for (int step = 0; step < steps; ++step) {
      if (!pp.is_first()) x = co_await pp.recv_prev_data();
      if (pp.is_first()) {
        if (step % 2 == 0) {
          pp.queue_irecv_prev();
        } else {
          pp.queue_irecv_prev(x.shape(), x.dtype());
        }
        CHECK(pp.queued() == 1);
      }
      pp.isend_next(stage_work(x, pp.stage()));
      if (pp.is_first()) x = co_await pp.queue_irecv_prev_data();
    }
    auto right = tensor::arange(dtype::i64, {2, i + 1}, 100 * i);
    for (int step = 0; step < steps; ++step) right = all_stages(right, pp.stages());
    if (pp.is_first()) CHECK(equal(x, right));
  }
  CHECK(pp.queued() == 0);
}

asio::awaitable<void> queue_order(world w) {
  PPScheduler pp(w.group());
  int const me = pp.stage();
  int const prev = (me + pp.stages() - 1) % pp.stages();
  for (int i = 0; i < 5; ++i) pp.queue_irecv_prev();
  for (int i = 0; i < 5; ++i) pp.isend_next(numbered(dtype::i64, {i, 2}, 10 * me + i));
  CHECK(pp.queued() == 5);
  for (int i = 0; i < 5; ++i) {
    auto got = co_await pp.queue_irecv_prev_data();
    CHECK(equal(got, numbered(dtype::i64, {i, 2}, 10 * prev + i)));
  }
  auto other = pp.on(9);
  other.queue_irecv_prev();
  CHECK(pp.queued() == 0);
  CHECK(pp.on(9).queued() == 1);
  pp.on(9).isend_next(numbered(dtype::u8, {3}, me));
  auto got = co_await pp.on(9).queue_irecv_prev_data();
  CHECK(equal(got, numbered(dtype::u8, {3}, prev)));
}

}  // namespace

TEST_CASE("microbatches of other sizes, also of no rows, come through three stages") {
  run_everywhere(3, smaller_last_microbatch);
}
TEST_CASE("next and previous do not mix, also where they are the same rank") {
  for (int n : {2, 3}) run_everywhere(n, both_directions);
}
TEST_CASE("every hop describes itself, for one request after another and for two in flight") {
  for (int n : {2, 3}) run_everywhere(n, shapes_of_requests);
}
TEST_CASE("queued receives go round the ring of stages step by step") {
  for (int n : {2, 3, 5}) run_everywhere(n, queue_round_the_ring);
}
TEST_CASE("queued receives give their data in the order of the sends, apart for each channel") {
  for (int n : {2, 3}) run_everywhere(n, queue_order);
}
