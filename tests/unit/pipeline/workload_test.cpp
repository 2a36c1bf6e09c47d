// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <cstdint>
#include <deque>
#include <hocket/parallel/context_parallel.hpp>
#include <hocket/parallel/model_parallel.hpp>
#include <hocket/pipeline/pp_scheduler.hpp>
#include <optional>
#include <string>
#include <vector>

#include "../parallel/programs.hpp"

using namespace hocket;
using test::numbered;
using test::run_everywhere;
namespace asio = boost::asio;

namespace {

constexpr int layers = 4;
constexpr int steps = 3;
constexpr std::int64_t width = 8;

// Every token sees all tokens: wrapping integers, so that any order of sums is exact.
tensor attend(tensor const& own, tensor const& all, int layer) {
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(width));
  auto const* const a = all.const_data<std::uint64_t>();
  for (std::int64_t i = 0; i < all.numel(); ++i) sums[static_cast<std::size_t>(i % width)] += a[i];
  auto out = tensor::empty(dtype::u64, own.shape());
  auto const* const x = own.const_data<std::uint64_t>();
  auto* const y = out.data<std::uint64_t>();
  for (std::int64_t i = 0; i < own.numel(); ++i)
    y[i] = 3 * x[i] + static_cast<std::uint64_t>(layer) + sums[static_cast<std::size_t>(i % width)];
  return out;
}

tensor add(tensor const& a, tensor const& b) {
  auto out = tensor::empty(dtype::u64, a.shape());
  for (std::int64_t i = 0; i < a.numel(); ++i)
    out.data<std::uint64_t>()[i] =
        a.const_data<std::uint64_t>()[i] + b.const_data<std::uint64_t>()[i];
  return out;
}

tensor latent(int input) {
  return tensor::arange(dtype::u64, {601 + 32 * input, width}, 10 * input + 1);
}

// What one process without any parallelism makes of an input.
tensor alone(tensor x, tensor const& text) {
  for (int step = 0; step < steps; ++step) {
    auto v = add(x, text.slice(0, 0, x.size(0)).contiguous());
    for (int l = 0; l < layers; ++l) v = attend(v, v, l);
    x = add(x, v);
  }
  return x;
}

// MAGI-1's forward: a stage's layers over this rank's tokens; the last stage gives the velocity on.
asio::awaitable<void> forward_velocity(ParallelState s, PPScheduler pp, tensor x, tensor text) {
  auto const plan = make_split_plan(layout::balanced, x.shape(), s.cp_size(), 0);
  auto const cp = s.cp_group();
  auto own = split_inputs_cp(add(x, text.slice(0, 0, x.size(0)).contiguous()), plan, cp);
  if (!pp.is_first()) own = co_await pp.recv_prev_data(own.shape(), own.dtype());
  int const here = layers / s.pp_size();
  for (int l = 0; l < here; ++l) {
    auto all = co_await cat_outputs_cp(own, plan, cp);
    own = attend(own, all, s.pp_rank() * here + l);
  }
  if (!pp.is_last()) {
    pp.isend_next(own);
    co_return;
  }
  auto velocity = co_await cat_outputs_cp(own, plan, cp);
  pp.isend_next(velocity);
}

// MAGI-1's walk: all inputs in flight, first in, first out.
asio::awaitable<void> magi(world w) {
  auto s = co_await initialize_model_parallel(w, 1, 2, 2);
  auto pp = init_pp_scheduler(s);
  auto const texts = s.tp_cp_group();
  std::optional<tensor> given;
  if (s.is_last_tp_cp_rank()) given = tensor::arange(dtype::u64, {800, width}, 5);
  auto text = co_await texts.broadcast(given, s.tp_cp_last());
  constexpr int inputs = 3;
  std::vector<tensor> x;
  std::deque<std::pair<int, int>> queue;
  for (int i = 0; i < inputs; ++i) {
    x.push_back(latent(i));
    co_await forward_velocity(s, pp, x[static_cast<std::size_t>(i)], *text);
    if (pp.is_first()) pp.queue_irecv_prev();
    queue.emplace_back(i, 1);
  }
  while (!queue.empty()) {
    auto const [input, done] = queue.front();
    queue.pop_front();
    auto& mine = x[static_cast<std::size_t>(input)];
    if (pp.is_first()) {
      auto velocity = co_await pp.queue_irecv_prev_data();
      mine = add(mine, velocity);
    }
    if (done == steps) continue;
    co_await forward_velocity(s, pp, mine, *text);
    if (pp.is_first()) pp.queue_irecv_prev();
    queue.emplace_back(input, done + 1);
  }
  if (pp.is_first())
    for (int i = 0; i < inputs; ++i)
      CHECK(equal(x[static_cast<std::size_t>(i)], alone(latent(i), *text)));
  co_await w.group().barrier();
  co_await destroy_model_parallel(s);
}

// cosmos-predict2's video2world: everything comes from the first rank, field by field.
asio::awaitable<void> cosmos(world w) {
  auto s = co_await initialize_model_parallel(w, 1, 1, 3);
  auto const cp = s.cp_group();
  bool const first = s.cp_rank() == 0;
  auto const x0 = numbered(dtype::f32, {1, 4, 6, 2, 5}, 0);
  auto const per_frame = numbered(dtype::f64, {1, 6}, 1);
  std::optional<tensor> x_given, frames_given, sigma_given;
  if (first) {
    x_given = x0;
    frames_given = per_frame;
    sigma_given = tensor::full(dtype::f32, shape(1, 1), 80);
  }
  auto x = co_await broadcast_split_tensor(x_given, 2, cp);
  auto frames = co_await broadcast_split_tensor(frames_given, 1, cp);
  auto sigma = co_await broadcast(sigma_given, cp);
  auto prompt = co_await broadcast(std::string(first ? "a street in the rain" : ""), cp);
  auto is_video = co_await broadcast(first, cp);
  CHECK(equal(*x, split_inputs_cp(x0, 2, cp)));
  CHECK(equal(*frames, split_inputs_cp(per_frame, 1, cp)));
  CHECK(sigma->item<float>(0, 0) == 80.0F);
  CHECK(prompt == "a street in the rain");
  CHECK(is_video);
  auto sample = split_inputs_cp(x0, 2, cp);
  for (int step = 0; step < 5; ++step) {
    auto whole = co_await cat_outputs_cp(sample, 2, cp);
    CHECK(equal(whole, x0));
    sample = split_inputs_cp(whole, 2, cp);
  }
  co_await destroy_model_parallel(s);
}

}  // namespace

TEST_CASE("MAGI-1's walk over cp 2 and pp 2 gives what one process gives, bit for bit") {
  run_everywhere(4, magi);
}
TEST_CASE("cosmos-predict2's inputs reach all ranks field by field, and samples come together") {
  run_everywhere(3, cosmos);
}
