// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// The exchange of sequence shards for head shards around attention (DeepSpeed-Ulysses): rank r has
// all heads of its tokens, then all tokens of its heads, and back.
#include <doctest/doctest.h>

#include <array>
#include <hocket/parallel/context_parallel.hpp>
#include <hocket/tensor/copy.hpp>
#include <vector>

#include "../parallel/programs.hpp"
#include "refusal.hpp"

using namespace hocket;
using test::outcome_of;
using test::run_everywhere;
namespace asio = boost::asio;

namespace {

constexpr std::int64_t width = 5;

// Token s, head h: what any rank must see there.
tensor tokens(std::int64_t first, std::int64_t count, std::int64_t heads) {
  return tensor::arange(dtype::i64, {count, heads, width}, first * heads * width);
}

// [tokens of one rank, all heads] seen as one part for each rank: no copy.
tensor by_rank(tensor const& x, int n) {
  auto const cut = x.reshape({x.size(0), n, x.size(1) / n, width});
  return cut.transpose(0, 1);
}

work<> to_heads(process_group const& g, tensor const& out, tensor const& own) {
  int const n = g.size();
  return g.all_to_all(out.reshape({n, out.size(0) / n, out.size(1), width}), by_rank(own, n));
}

work<> to_tokens(process_group const& g, tensor const& out, tensor const& heads) {
  int const n = g.size();
  return g.all_to_all(by_rank(out, n), heads.reshape({n, heads.size(0) / n, heads.size(1), width}));
}

asio::awaitable<void> even(world w) {
  auto const g = w.group();
  int const n = g.size();
  int const me = g.rank().value();
  std::int64_t const heads = 2 * n;
  auto const own = tokens(4 * me, 4, heads);
  auto mine = tensor::zeros(dtype::i64, {4 * n, 2, width});
  co_await to_heads(g, mine, own);
  CHECK(equal(mine, tokens(0, 4 * n, heads).slice(1, 2 * me, 2)));
  auto back = tensor::zeros(dtype::i64, own.shape());
  co_await to_tokens(g, back, mine);
  CHECK(equal(back, own));
}

// Three exchanges under way, each on a channel of its own, and one for the result: cosmos-predict2.
asio::awaitable<void> query_key_value(world w) {
  auto const g = w.group();
  int const n = g.size();
  int const me = g.rank().value();
  for (int layer = 0; layer < 5; ++layer) {
    std::vector<tensor> heads;
    std::vector<work<>> started;
    for (int i = 0; i < 3; ++i) {
      auto const own = tokens(100 * i + 10 * layer + 3 * me, 3, n);
      heads.push_back(tensor::zeros(dtype::i64, {3 * n, 1, width}));
      started.push_back(to_heads(g.channel(static_cast<std::uint64_t>(i + 1)), heads.back(), own));
    }
    for (int i = 0; i < 3; ++i) {
      co_await work<>(started[static_cast<std::size_t>(i)]);
      auto const all = tokens(100 * i + 10 * layer, 3 * n, n);
      CHECK(equal(heads[static_cast<std::size_t>(i)], all.slice(1, me, 1)));
    }
    auto out = tensor::zeros(dtype::i64, {3, n, width});
    co_await to_tokens(g, out, heads[2]);
    CHECK(equal(out, tokens(200 + 10 * layer + 3 * me, 3, n)));
  }
  for (std::uint64_t c = 1; c <= 3; ++c) g.channel(c).close_channel();
}

// Shards of 3, 3, 2 and 2 tokens: views in one batch.
asio::awaitable<void> uneven(world w) {
  auto const g = w.group();
  int const n = g.size();
  int const me = g.rank().value();
  auto const plan = make_split_plan(layout::balanced, 10, n, 0);
  auto const heads = make_split_plan(layout::strict, 8, n, 1);
  auto const whole = tokens(0, 10, 8);
  auto const own = split(whole, plan, me);
  auto mine = tensor::zeros(dtype::i64, {10, 2, width});
  batch forward;
  for (int r = 0; r < n; ++r) {
    forward.send(split_view(own, heads, r), group_rank(r));
    forward.recv(split_view(mine, plan, r), group_rank(r));
  }
  co_await g.run(forward);
  CHECK(equal(mine, split_view(whole, heads, me)));
  auto back = tensor::zeros(dtype::i64, own.shape());
  batch inverse;
  for (int r = 0; r < n; ++r) {
    inverse.send(split_view(mine, plan, r), group_rank(r));
    inverse.recv(split_view(back, heads, r), group_rank(r));
  }
  co_await g.run(inverse);
  CHECK(equal(back, own));
}

// Two key-value heads for eight ranks: each goes to four of them.
asio::awaitable<void> fewer_heads_than_ranks(world w) {
  auto const g = w.group();
  int const n = g.size();
  int const me = g.rank().value();
  auto const plan = make_split_plan(layout::balanced, 11, n, 0);
  auto const whole = tokens(0, 11, 2);
  auto const own = split(whole, plan, me);
  auto mine = tensor::zeros(dtype::i64, {11, 1, width});
  batch b;
  for (int r = 0; r < n; ++r) {
    b.send(own.slice(1, r / 4, 1), group_rank(r));
    b.recv(split_view(mine, plan, r), group_rank(r));
  }
  co_await g.run(b);
  CHECK(equal(mine, whole.slice(1, me / 4, 1)));
}

asio::awaitable<void> heads_that_do_not_divide(world w) {
  auto const g = w.group();
  auto const story =
      test::refusal([] { return make_split_plan(layout::strict, shape(10, 30, width), 4, 1); });
  CHECK(story.find("30 % 4 = 2") != std::string::npos);
  auto x = tensor::zeros(dtype::i64, {30, width});
  auto e = co_await outcome_of(g.all_to_all(x, x));
  CHECK(e.code == errc::invalid_argument);
  CHECK(e.says("30 % 4 = 2"));
  co_await g.barrier();
}

// The byte counts of nccl-tests' matrix file.
asio::awaitable<void> by_matrix(world w) {
  constexpr std::array<std::array<std::int64_t, 3>, 3> bytes{
      std::array<std::int64_t, 3>{100, 200, 150}, {50, 100, 75}, {300, 150, 200}};
  auto const g = w.group();
  auto const me = static_cast<std::size_t>(g.rank().value());
  std::array<std::int64_t, 3> from{};
  for (std::size_t r = 0; r < 3; ++r) from[r] = bytes[r][me];
  auto const sent = make_split_plan(bytes[me], 0);
  auto const received = make_split_plan(from, 0);
  auto in = tensor::empty(dtype::u8, {sent.length()});
  for (int r = 0; r < 3; ++r) {
    auto const part = split_view(in, sent, r);
    copy(part, tensor::arange(dtype::u8, part.shape(), 50 * g.rank().value() + r));
  }
  auto out = tensor::zeros(dtype::u8, {received.length()});
  co_await g.all_to_all_v(out, received, in, sent);
  for (int r = 0; r < 3; ++r) {
    auto const part = split_view(out, received, r);
    CHECK(equal(part, tensor::arange(dtype::u8, part.shape(), 50 * r + g.rank().value())));
  }
}

}  // namespace

TEST_CASE("tokens are exchanged for heads without a copy, and back") {
  for (int n : {1, 2, 3, 4}) run_everywhere(n, even);
}

TEST_CASE("queries, keys and values are exchanged at the same time and awaited one by one") {
  for (int n : {2, 3}) run_everywhere(n, query_key_value);
}

TEST_CASE("shards of 3, 3, 2 and 2 tokens are exchanged for heads and back") {
  run_everywhere(4, uneven);
}

TEST_CASE("two key-value heads go to four of eight ranks each") {
  run_everywhere(8, fewer_heads_than_ranks);
}

TEST_CASE("30 heads over 4 ranks are refused with the numbers on all") {
  run_everywhere(4, heads_that_do_not_divide);
}

TEST_CASE("byte counts of a matrix reach their ranks") { run_everywhere(3, by_matrix); }
