// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Models of other programs, cut into stages: PiPPy's example with and without a skip connection,
// and Megatron's decoding, against the uncut model.
#include <doctest/doctest.h>

#include <hocket/async/task_group.hpp>
#include <hocket/parallel/model_parallel.hpp>
#include <hocket/pipeline/make_schedule.hpp>
#include <hocket/pipeline/pipeline.hpp>
#include <hocket/pipeline/run_schedule.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../parallel/programs.hpp"

using namespace hocket;
using test::run_everywhere;
namespace asio = boost::asio;

namespace {

// [n, in] times weights made of small whole numbers, so that sums are exact; then relu.
tensor linear(tensor const& x, std::int64_t out, int layer) {
  auto const in = x.size(1);
  auto y = tensor::zeros(dtype::f32, {x.size(0), out});
  for (std::int64_t n = 0; n < x.size(0); ++n)
    for (std::int64_t i = 0; i < in; ++i) {
      float const v = x.const_data<float>()[n * in + i];
      if (v == 0.0F) continue;
      auto* const row = y.data<float>() + n * out;
      for (std::int64_t o = 0; o < out; ++o)
        row[o] += v * static_cast<float>((i * 7 + o * 3 + layer) % 5 - 2);
    }
  for (std::int64_t i = 0; i < y.numel(); ++i) {
    auto& v = y.data<float>()[i];
    v = v > 0 ? static_cast<float>(static_cast<std::int64_t>(v) % 11) : 0.0F;
  }
  return y;
}

// Edges of [8, 512], [8, 1024] and [8, 10] between stages.
tensor pippy_stage(tensor const& x, int stage, int stages) {
  if (stage + 1 == stages) return linear(x, 10, stage);
  return linear(x, stage == 0 ? 512 : 1024, stage);
}

tensor batch_of(std::int64_t rows) {
  auto x = tensor::empty(dtype::f32, {rows, 64});
  for (std::int64_t i = 0; i < x.numel(); ++i)
    x.data<float>()[i] = static_cast<float>((i * 13 + 5) % 7);
  return x;
}

tensor pippy_alone(tensor x, int stages, bool skips) {
  tensor first;
  for (int s = 0; s < stages; ++s) {
    x = pippy_stage(x, s, stages);
    if (s == 0) first = linear(x, 10, 9);
  }
  if (skips)
    for (std::int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] += first.const_data<float>()[i];
  return x;
}

// 32 rows in four chunks of eight, and 30 in chunks of 8, 8, 7 and 7.
asio::awaitable<void> chunks(world w) {
  for (std::int64_t const rows : {32, 30}) {
    auto const x = batch_of(rows);
    auto const plan = make_split_plan(layout::balanced, rows, 4, 0);
    auto const forward = [&](int stage, int m, tensor in) -> asio::awaitable<tensor> {
      if (stage == 0) in = split(x, plan, m);
      co_return pippy_stage(in, stage, w.size());
    };
    auto const actions = stage_actions().forward(forward);
    auto running = run_schedule(w.group(), make_schedule("forward", w.size(), 4), actions);
    auto const report = co_await std::move(running);
    if (w.rank().value() + 1 == w.size())
      CHECK(equal(gather(report.outputs, plan), pippy_alone(x, w.size(), false)));
  }
}

asio::awaitable<tensor> with_skip(stage_request r, tensor x) {
  auto y = pippy_stage(x, r.stage(), r.stages());
  if (r.is_first()) r.skip_to(r.stages() - 1, linear(y, 10, 9));
  if (!r.is_last()) co_return y;
  auto skipped = co_await r.skip_from(0);
  for (std::int64_t i = 0; i < y.numel(); ++i) y.data<float>()[i] += skipped.data<float>()[i];
  co_return y;
}

asio::awaitable<void> skip_connection(world w) {
  pipeline pipe(w.group(), with_skip);
  auto const x = batch_of(32);
  auto const plan = make_split_plan(layout::strict, 32, 4, 0);
  std::vector<work<tensor>> started;
  if (w.rank().value() == 0)
    for (int m = 0; m < 4; ++m) started.push_back(pipe.submit(split(x, plan, m)));
  pipe.close();
  co_await pipe.run();
  std::vector<tensor> done;
  for (auto& s : started) done.push_back(co_await std::move(s));
  if (!done.empty()) CHECK(equal(gather(done, plan), pippy_alone(x, w.size(), true)));
}

// -- decoding: tokens [batch, s] to logits [batch, s, vocab], one step after the other

constexpr std::int64_t batch = 8;
constexpr std::int64_t vocab = 512;
constexpr int decode_steps = 32;

std::int64_t length_of(int step) { return step == 0 ? 5 : step % 8 == 3 ? 2 : 1; }

tensor hidden_step(tensor const& x, int stage, int stages) {
  bool const is_last = stage + 1 == stages;
  auto y = tensor::empty(dtype::i64, is_last ? shape(x.size(0), x.size(1), vocab) : x.shape());
  auto const* const from = x.const_data<std::int64_t>();
  for (std::int64_t i = 0; i < y.numel(); ++i) {
    auto const v = from[is_last ? i / vocab : i] * 31 + stage;
    y.data<std::int64_t>()[i] = is_last ? (v * (i % vocab + 1)) % 10007 : v % 1'000'003;
  }
  return y;
}

// The likeliest token of each sequence's last place, as the next step's input of length s.
tensor next_tokens(tensor const& logits, std::int64_t s) {
  auto y = tensor::empty(dtype::i64, {batch, s});
  for (std::int64_t b = 0; b < batch; ++b) {
    std::int64_t best = 0;
    auto const at = [&](std::int64_t v) {
      return logits.item<std::int64_t>(b, logits.size(1) - 1, v);
    };
    for (std::int64_t v = 1; v < vocab; ++v)
      if (at(v) > at(best)) best = v;
    for (std::int64_t i = 0; i < s; ++i) y.data<std::int64_t>()[b * s + i] = best + i;
  }
  return y;
}

tensor prompt_of(int stream) { return tensor::arange(dtype::i64, {batch, length_of(0)}, stream); }

tensor decode_alone(int stream, int stages) {
  auto x = prompt_of(stream);
  for (int step = 0; step < decode_steps; ++step) {
    for (int s = 0; s < stages; ++s) x = hidden_step(x, s, stages);
    x = next_tokens(x, length_of(step + 1));
  }
  return x;
}

asio::awaitable<tensor> decode_stage(stage_request r, tensor x) {
  co_return hidden_step(x, r.stage(), r.stages());
}

asio::awaitable<void> decode(pipeline& pipe, int stream, int stages) {
  auto x = prompt_of(stream);
  for (int step = 0; step < decode_steps; ++step) {
    auto logits = co_await pipe.submit(x);
    CHECK(logits.shape() == shape(batch, length_of(step), vocab));
    x = next_tokens(logits, length_of(step + 1));
  }
  CHECK(equal(x, decode_alone(stream, stages)));
}

asio::awaitable<void> decoding(world w) {
  pipeline pipe(w.group(), decode_stage);
  task_group tasks(w.get_executor());
  tasks.spawn(pipe.run());
  if (w.rank().value() == 0) {
    task_group streams(w.get_executor());
    for (int i = 0; i < 2; ++i) streams.spawn(decode(pipe, i, w.size()));
    co_await streams.join();
    pipe.close();
  }
  co_await tasks.join();
}

}  // namespace

TEST_CASE("PiPPy's example in chunks, also of other sizes, gives what the uncut model gives") {
  run_everywhere(3, chunks);
}
TEST_CASE("PiPPy's example with a connection from the first to the last stage") {
  run_everywhere(4, skip_connection);
}
TEST_CASE("decoding over stages, with lengths that change, gives the tokens of one process") {
  for (int n : {2, 4}) run_everywhere(n, decoding);
}
