// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Orders that differ between ranks, and messages of every size that pass each other.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include "buffer.hpp"
#include "engine_under_test.hpp"
#include "outcome.hpp"

using namespace hocket;
using namespace hocket::conformance;
namespace asio = boost::asio;

namespace {

tensor number(std::int64_t x) { return tensor::full(dtype::i64, {1}, static_cast<long double>(x)); }

// An order of 0..n-1 of each rank's own: forwards, backwards, or shuffled.
std::vector<std::uint64_t> own_order(int rank, std::uint64_t n) {
  std::vector<std::uint64_t> order;
  for (std::uint64_t i = 0; i < n; ++i) order.push_back(i);
  if (rank % 3 == 1) std::reverse(order.begin(), order.end());
  if (rank % 3 == 2)
    std::shuffle(order.begin(), order.end(),
                 std::mt19937_64(seed() + static_cast<std::uint64_t>(rank)));
  return order;
}

// One gather on each of several channels, or under each of several keys.
asio::awaitable<void> own_orders(world w, bool keyed) {
  constexpr std::uint64_t count = 9;
  auto const g = w.group();
  int const n = g.size();
  int const me = g.rank().value();
  std::vector<tensor> outs(count);
  std::vector<work<>> pending;
  for (auto const c : own_order(me, count)) {
    outs[c] = tensor::empty(dtype::i64, {n});
    auto const at = keyed ? g.keyed(c) : g.channel(c + 1);
    pending.push_back(at.all_gather(outs[c], number(100 * static_cast<int>(c) + me)));
  }
  for (auto& p : pending) co_await std::move(p);
  for (std::uint64_t c = 0; c < count; ++c) {
    for (int r = 0; r < n; ++r)
      CHECK(outs[c].item<std::int64_t>(r) == 100 * static_cast<int>(c) + r);
    if (!keyed) g.channel(c + 1).close_channel();
  }
}

// Two groups of the same members, listed otherwise, used in opposite orders.
asio::awaitable<void> two_groups(world w) {
  int const n = w.size();
  int const me = w.rank().value();
  std::vector<int> turned;
  for (int r = n; r-- > 0;) turned.push_back(r);
  auto const there = rank_group::consecutive(world_rank(0), n);
  auto const back = rank_group::from(turned);
  // They are made in opposite orders, too.
  auto first = make_group(w, me % 2 == 0 ? there : back, group_options().deadline(hang));
  auto second = make_group(w, me % 2 == 0 ? back : there, group_options().deadline(hang));
  auto a = co_await std::move(first);
  auto b = co_await std::move(second);
  if (me % 2 != 0) std::swap(a, b);
  auto const x = tensor::empty(dtype::i64, {n});
  auto const y = tensor::empty(dtype::i64, {n});
  for (int round = 0; round < 5; ++round) {
    work<> one;
    work<> other;
    if ((me + round) % 2 == 0) one = a.all_gather(x, number(me));
    other = b.all_gather(y, number(10 + me));
    if ((me + round) % 2 != 0) one = a.all_gather(x, number(me));
    co_await std::move(other);
    co_await std::move(one);
    for (int r = 0; r < n; ++r) {
      CHECK(x.item<std::int64_t>(r) == r);
      CHECK(y.item<std::int64_t>(r) == 10 + n - 1 - r);
    }
  }
}

array message_of(int from, std::int64_t bytes) {
  return patterned(dtype::u8, extents(1, bytes), static_cast<std::uint64_t>(bytes), from);
}

// All send to the next before any receives, at every size around every limit.
asio::awaitable<void> ring(world w) {
  static auto const sizes = message_sizes();
  auto const g = w.group();
  int const n = g.size();
  int const me = g.rank().value();
  int const before = (me + n - 1) % n;
  for (auto const bytes : sizes) {
    auto sent = g.send(tensor_of(message_of(me, bytes)), group_rank((me + 1) % n));
    tensor got;
    if (bytes % 2 == 0) {
      got = co_await g.recv(group_rank(before));
    } else {
      got = tensor::zeros(dtype::u8, {bytes});
      co_await g.recv(got, group_rank(before));
    }
    CHECK(buffer::read(got).bytes == message_of(before, bytes).bytes);
    co_await std::move(sent);
  }
}

// Both directions to one peer in one batch, the peer with single calls; shapes that show a swap.
asio::awaitable<void> both_directions(world w) {
  static constexpr std::int64_t rows[] = {5, 4097, 40000};
  auto const g = w.group();
  int const n = g.size();
  int const me = g.rank().value();
  auto const next = group_rank((me + 1) % n);
  auto const previous = group_rank((me + n - 1) % n);
  auto const forward = op_options().tag(1);
  auto const backward = op_options().tag(2);
  for (std::int64_t const r : rows) {
    auto const ahead = tensor_of(message_of(me, r));
    auto const back = tensor_of(message_of(me, r + 2));
    tensor from_previous;
    tensor from_next;
    if (me % 2 == 0) {
      batch b;
      b.send(ahead, next, forward).send(back, previous, backward);
      b.recv(previous, forward).recv(next, backward);
      auto const got = co_await g.run(b);
      from_previous = got[0];
      from_next = got[1];
    } else {
      auto second = g.recv(next, backward);
      auto first = g.recv(previous, forward);
      auto sent_back = g.send(back, previous, backward);
      auto sent_ahead = g.send(ahead, next, forward);
      from_next = co_await std::move(second);
      from_previous = co_await std::move(first);
      co_await std::move(sent_ahead);
      co_await std::move(sent_back);
    }
    CHECK(buffer::read(from_previous).bytes == message_of(previous.value(), r).bytes);
    CHECK(buffer::read(from_next).bytes == message_of(next.value(), r + 2).bytes);
  }
}

// Messages of one sender and tag keep their order whatever their sizes; tags are taken in any.
asio::awaitable<void> overtaking(world w) {
  static auto const sizes = message_sizes();
  auto const g = w.group();
  int const me = g.rank().value();
  constexpr std::uint64_t tags = 3;
  if (me == 0) {
    std::vector<work<>> sent;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      for (std::uint64_t t = 0; t < tags; ++t)
        sent.push_back(g.send(tensor_of(message_of(static_cast<int>(t), sizes[i])), group_rank(1),
                              op_options().tag(t)));
    for (auto& s : sent) co_await std::move(s);
  } else if (me == 1) {
    for (std::uint64_t t = tags; t-- > 0;)
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        auto const got = co_await g.recv(any_source, op_options().tag(t));
        CHECK(buffer::read(got).bytes == message_of(static_cast<int>(t), sizes[i]).bytes);
      }
  }
  co_await g.barrier();
}

// Rank 0 has a large message for rank 1, which does not take it; it still serves the others.
asio::awaitable<void> slow_pair(world w) {
  auto const g = w.group();
  int const n = g.size();
  int const me = g.rank().value();
  work<> stuck;
  if (me == 0) stuck = g.send(tensor_of(message_of(0, 3 << 20)), group_rank(1));
  for (int round = 0; round < 20; ++round) {
    auto const tagged = op_options().tag(5);
    if (me == 0)
      for (int r = 1; r < n; ++r) g.send(tensor_of(message_of(r, 9000)), group_rank(r), tagged);
    if (me != 0) {
      auto const got = co_await g.recv(group_rank(0), tagged);
      CHECK(buffer::read(got).bytes == message_of(me, 9000).bytes);
    }
    if (me == 0) CHECK_FALSE(stuck.ready());  // rank 1 takes it after the last barrier
    co_await g.barrier();
  }
  if (me == 1) {
    auto const got = co_await g.recv(group_rank(0));
    CHECK(buffer::read(got).bytes == message_of(0, 3 << 20).bytes);
  }
  if (me == 0) co_await std::move(stuck);
  co_await g.barrier();
}

// The first operation of a group is a message between two of it; the others are not needed.
asio::awaitable<void> first_message(world w) {
  auto const members = rank_group::consecutive(world_rank(0), w.size());
  auto const g = co_await make_group(w, members, group_options().deadline(hang));
  int const me = w.rank().value();
  if (me == 1) co_await g.send(number(12), group_rank(2));
  if (me == 2) {
    auto const got = co_await g.recv(group_rank(1));
    CHECK(got.item<std::int64_t>(0) == 12);
    co_await g.send(number(20), group_rank(0));
  }
  if (me == 0) {
    auto const got = co_await g.recv(any_source);
    CHECK(got.item<std::int64_t>(0) == 20);
  }
  co_await g.barrier();
}

}  // namespace

TEST_CASE("channels and keys are used in another order on every rank") {
  for (int n : rank_counts)
    for (bool keyed : {false, true})
      run_everywhere(n, [keyed](world w) { return own_orders(w, keyed); });
}
TEST_CASE("two groups of the same members are made and used in opposite orders") {
  for (int n : rank_counts) run_everywhere(n, two_groups);
}
TEST_CASE("rings of ranks that all send first complete at every size around every limit") {
  for (int n : rank_counts) run(n, ring);
  run_on_threads(2, ring);
}
TEST_CASE("a batch with both directions to one peer meets single calls and nothing is swapped") {
  for (int n : {2, 4, 8}) run_everywhere(n, both_directions);
}
TEST_CASE("messages of one sender and tag do not overtake each other, whatever their sizes") {
  for (int n : {2, 3}) run(n, overtaking);
}
TEST_CASE("a message that nobody takes does not hold up the others of its sender") {
  for (int n : {2, 3, 5}) run_everywhere(n, slow_pair);
}
TEST_CASE("the first operation of a group may be a message between two of its members") {
  for (int n : {3, 5}) run_everywhere(n, first_message);
}
