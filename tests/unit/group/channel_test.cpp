// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <ranks.hpp>
#include <vector>

#include "ending.hpp"

using namespace hocket;
using namespace hocket::test;
namespace asio = boost::asio;

namespace {

// Every rank starts its gathers in an order of its own.
asio::awaitable<void> opposite_orders(world w) {
  constexpr int channels = 7;
  auto const g = w.group();
  int const n = g.size();
  int const me = g.rank().value();
  std::vector<tensor> outs(channels);
  std::vector<work<>> pending;
  for (int i = 0; i < channels; ++i) {
    int const c = me % 2 == 0 ? i : channels - 1 - i;
    auto& out = outs[static_cast<std::size_t>(c)];
    out = tensor::empty(dtype::i32, {n});
    auto const in = tensor::full(dtype::i32, {1}, 100 * c + me);
    pending.push_back(g.channel(static_cast<std::uint64_t>(c + 1)).all_gather(out, in));
  }
  for (auto& p : pending) co_await std::move(p);
  for (int c = 0; c < channels; ++c)
    for (int r = 0; r < n; ++r)
      CHECK(outs[static_cast<std::size_t>(c)].item<std::int32_t>(r) == 100 * c + r);
  for (int c = 0; c < channels; ++c) g.channel(static_cast<std::uint64_t>(c + 1)).close_channel();
}

// Rank 0 is done with channel 7 and uses the id again while the others still use the first one.
asio::awaitable<void> used_again(world w) {
  auto const g = w.group();
  int const me = g.rank().value();
  for (int round = 0; round < 5; ++round) {
    auto const c = g.channel(7);
    auto t = tensor::full(dtype::i32, {1}, me == 0 ? round : -1);
    auto const sent = c.broadcast(t, group_rank(0));
    if (me == 0) {
      c.send(tensor::full(dtype::i32, {2}, round), group_rank(1));
      c.close_channel();
      continue;
    }
    co_await work(sent);
    CHECK(t.item<std::int32_t>(0) == round);
    if (me == 1) {
      auto const got = co_await c.recv(group_rank(0));
      CHECK(got.item<std::int32_t>(1) == round);
    }
    c.close_channel();
  }
  co_await g.barrier();
}

asio::awaitable<void> closed_by_one(world w) {
  auto const g = w.group();
  auto const c = g.channel(3);
  co_await c.barrier();
  if (w.rank().value() == 0) {
    c.close_channel();
    auto const again = co_await ended(c.barrier());
    CHECK(again.code == errc::group_closed);
    CHECK(again.tells("ch 3"));
  } else {
    auto const met = co_await ended(c.barrier());
    CHECK(met.code == errc::group_closed);
    CHECK(met.tells("rank 0 is gone: it closed channel 3"));
    auto const sent = co_await ended(c.send(tensor::zeros(dtype::u8, {1}), group_rank(0)));
    CHECK(sent.code == errc::group_closed);
    auto const got = co_await ended(c.recv(group_rank(0)));
    CHECK(got.code == errc::group_closed);
    c.close_channel();
  }
  co_await g.channel(4).barrier();
  co_await g.barrier();
}

asio::awaitable<void> one_id(world w) {
  auto const g = w.group();
  CHECK(g.channel(5) == g.channel(5));
  CHECK_FALSE(g.channel(5) == g.channel(6));
  CHECK(g.channel(0) == g);
  CHECK(g.channel(5).channel_id() == 5);
  co_await g.channel(5).barrier();
}

// An object collective and tensors in flight on one group: both right, in the program's order.
asio::awaitable<void> many_in_flight(world w) {
  auto const g = w.group();
  int const n = g.size();
  constexpr int ops = 300;
  std::vector<tensor> outs;
  std::vector<work<>> pending;
  for (int i = 0; i < ops; ++i) {
    outs.push_back(tensor::empty(dtype::i32, {n}));
    pending.push_back(
        g.all_gather(outs.back(), tensor::full(dtype::i32, {1}, 1000 * i + g.rank().value())));
  }
  for (int i = ops; i-- > 0;) co_await std::move(pending[static_cast<std::size_t>(i)]);
  for (int i = 0; i < ops; ++i)
    for (int r = 0; r < n; ++r)
      CHECK(outs[static_cast<std::size_t>(i)].item<std::int32_t>(r) == 1000 * i + r);
}

}  // namespace

TEST_CASE("channels used in opposite orders on different ranks do not mix") {
  for (int n : {2, 3, 5}) run_ranks_everywhere(n, opposite_orders);
}
TEST_CASE("a closed channel's id can be used again before all members have closed it") {
  for (int n : {2, 3}) run_ranks_everywhere(n, used_again);
}
TEST_CASE("a channel closed by one member fails there and leaves other channels alone") {
  for (int n : {2, 3}) run_ranks_everywhere(n, closed_by_one);
}
TEST_CASE("equal ids are the same channel and id 0 is the group itself") {
  run_ranks_everywhere(2, one_id);
}
TEST_CASE("hundreds of operations in flight on one channel keep the order of the calls") {
  for (int n : {1, 3}) run_ranks_everywhere(n, many_in_flight);
}
