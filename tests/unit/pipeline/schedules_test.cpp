// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// The orders in which pipelines of other programs call: 1F1B, skip connections, tokens from the
// last stage, windows of messages in both directions.
#include <doctest/doctest.h>

#include <deque>
#include <hocket/pipeline/pp_scheduler.hpp>
#include <vector>

#include "../parallel/programs.hpp"

using namespace hocket;
using test::numbered;
using test::run_everywhere;
namespace asio = boost::asio;

namespace {

tensor scaled(tensor const& x, std::int64_t factor, std::int64_t plus) {
  auto y = tensor::empty(x.dtype(), x.shape());
  for (std::int64_t i = 0; i < x.numel(); ++i)
    y.data<std::int64_t>()[i] = factor * x.const_data<std::int64_t>()[i] + plus;
  return y;
}

// Sizes of microbatches differ, so that a mix-up shows.
tensor input_of(int m) { return tensor::arange(dtype::i64, {m + 1, 3}, 100 * m); }

// One stage of Megatron's 1F1B. Forward: 2x + stage; backward: 3g + stage + (the kept x).
class one_f_one_b {
 public:
  explicit one_f_one_b(PPScheduler p) : pp(std::move(p)) {}
  PPScheduler pp;
  std::deque<tensor> kept;

  asio::awaitable<void> forward(int m) {
    auto x = input_of(m);
    if (!pp.is_first()) x = co_await pp.recv_prev_data();
    CHECK(x.size(0) == m + 1);
    kept.push_back(x);
    auto const y = scaled(x, 2, pp.stage());
    if (!pp.is_last()) pp.isend_next(y);
  }
  asio::awaitable<void> backward(int m) {
    auto const x = kept.front();
    kept.pop_front();
    auto g = scaled(x, 2, pp.stage());  // the last stage's loss is the sum of squares, say
    if (!pp.is_last()) g = co_await pp.recv_next_data();
    CHECK(g.size(0) == m + 1);
    auto const back = step(g, x, pp.stage());
    if (!pp.is_first()) {
      pp.isend_prev(back);
    } else {
      CHECK(equal(back, alone(m, pp.stages())));
    }
  }
  static tensor step(tensor const& g, tensor const& x, int stage) {
    auto out = scaled(g, 3, stage);
    for (std::int64_t i = 0; i < x.numel(); ++i)
      out.data<std::int64_t>()[i] += x.const_data<std::int64_t>()[i];
    return out;
  }
  static tensor alone(int m, int stages) {
    std::vector<tensor> xs{input_of(m)};
    for (int s = 0; s + 1 < stages; ++s) xs.push_back(scaled(xs.back(), 2, s));
    auto g = scaled(xs.back(), 2, stages - 1);
    for (int s = stages; s-- > 0;) g = step(g, xs[static_cast<std::size_t>(s)], s);
    return g;
  }
};

asio::awaitable<void> eight_microbatches(world w) {
  one_f_one_b stage{PPScheduler(w.group())};
  constexpr int count = 8;
  int const warm_up = std::min(count, stage.pp.stages() - stage.pp.stage() - 1);
  for (int m = 0; m < warm_up; ++m) co_await stage.forward(m);
  for (int m = warm_up; m < count; ++m) {
    co_await stage.forward(m);
    co_await stage.backward(m - warm_up);
  }
  for (int m = count - warm_up; m < count; ++m) co_await stage.backward(m);
  CHECK(stage.kept.empty());
  co_await w.group().barrier();
}

// PiPPy's skip connection: the first stage gives to the next and to the last.
asio::awaitable<void> skip_connection(world w) {
  PPScheduler pp(w.group());
  auto const g = w.group();
  group_rank const last(pp.stages() - 1);
  auto const skip = op_options().tag(7);
  for (int chunk = 0; chunk < 4; ++chunk) {
    auto x = numbered(dtype::i64, {8, chunk + 1}, chunk);
    if (pp.is_first()) {
      g.send(scaled(x, 1, 5), last, skip);
    } else {
      x = co_await pp.recv_prev_data();
    }
    x = scaled(x, 1, 1);
    if (!pp.is_last()) {
      pp.isend_next(x);
      continue;
    }
    auto const skipped = co_await g.recv(group_rank(0), skip);
    auto const given = numbered(dtype::i64, {8, chunk + 1}, chunk);
    CHECK(equal(x, scaled(given, 1, pp.stages())));
    CHECK(equal(skipped, scaled(given, 1, 5)));
  }
  co_await g.barrier();
}

// Chunked prefill: the last stage has tokens to tell only at the end of a request. The stages start
// the broadcast and the relay in different orders, on two groups.
asio::awaitable<void> tokens_of_final_chunks(world w) {
  PPScheduler pp(w.group());
  auto const tokens = co_await make_group(w, w.group().members());
  group_rank const last(pp.stages() - 1);
  int chunk = 0;
  for (bool const is_final : {false, false, true, false, true}) {
    ++chunk;
    auto const right = numbered(dtype::i32, {chunk, 2}, chunk);
    work<std::optional<tensor>> told;
    std::optional<tensor> given;
    if (pp.is_last()) given = numbered(dtype::i32, {chunk}, 3);
    bool const early = pp.stage() % 2 == 0;
    if (is_final && early) told = tokens.broadcast(given, last);
    tensor x = right;
    if (!pp.is_first()) x = co_await pp.recv_prev_data();
    CHECK(equal(x, right));
    if (!pp.is_last()) pp.isend_next(x);
    if (is_final && !early) told = tokens.broadcast(given, last);
    if (!is_final) continue;
    auto const got = co_await std::move(told);
    CHECK(equal(*got, numbered(dtype::i32, {chunk}, 3)));
  }
}

// OSU's osu_bibw: a window of receives and sends in both directions, waited for together.
asio::awaitable<void> window_of_messages(world w) {
  auto const g = w.group();
  int const me = g.rank().value();
  group_rank const other(1 - me);
  for (std::int64_t const length : {1, 1000, 65536}) {
    std::vector<tensor> outs;
    std::vector<work<>> pending;
    for (int i = 0; i < 64; ++i) {
      outs.push_back(tensor::zeros(dtype::i32, {length}));
      pending.push_back(g.recv(outs.back(), other));
    }
    for (int i = 0; i < 64; ++i)
      pending.push_back(g.send(numbered(dtype::i32, {length}, 100 * me + i), other));
    for (auto const& p : pending) co_await work<>(p);
    for (int i = 0; i < 64; ++i)
      CHECK(equal(outs[static_cast<std::size_t>(i)],
                  numbered(dtype::i32, {length}, 100 * (1 - me) + i)));
  }
}

// gloo's sendrecv_stress: one place, ten thousand times.
asio::awaitable<void> ten_thousand_messages(world w) {
  auto const g = w.group();
  int const me = g.rank().value();
  group_rank const other(1 - me);
  int wrong = 0;
  auto buffer = tensor::zeros(dtype::i32, {2});
  for (int i = 0; i < 10000; ++i) {
    auto const sent = g.send(tensor::full(dtype::i32, {2}, 2 * i + me), other);
    co_await g.recv(buffer, other);
    wrong += buffer.item<std::int32_t>(1) != 2 * i + 1 - me;
    co_await work<>(sent);
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("1F1B of eight microbatches gives the gradients of one process") {
  for (int stages : {2, 3, 4}) run_everywhere(stages, eight_microbatches);
}

TEST_CASE("a skip connection from the first stage passes those between") {
  run_everywhere(4, skip_connection);
}

TEST_CASE("the last stage tells tokens of final chunks only, beside the relay, in any order") {
  for (int stages : {2, 3}) run_everywhere(stages, tokens_of_final_chunks);
}

TEST_CASE("windows of 64 messages in both directions keep their order") {
  run_everywhere(2, window_of_messages);
}

TEST_CASE("ten thousand messages into one buffer come one by one") {
  run_everywhere(2, ten_thousand_messages);
}
