// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Counts, offsets, tags, channels and ranks past 8, 16 and 32 bits.
#include <doctest/doctest.h>

#include <hocket/detail/sanitized.hpp>
#include <string>
#include <vector>

#include "ranks.hpp"
#include "virtual_world.hpp"

using namespace hocket;
using namespace hocket::test;
namespace asio = boost::asio;

namespace {

constexpr std::int64_t four_gib = std::int64_t{1} << 32;

tensor number(int value) { return tensor::full(dtype::i32, {1}, value); }

// A ring, an exchange and objects among more ranks than a byte can name.
asio::awaitable<void> past_a_byte(world w) {
  auto const g = w.group();
  int const n = g.size();
  int const me = g.rank().value();
  int const before = (me + n - 1) % n;
  g.send(number(me), group_rank((me + 1) % n));
  auto const got = co_await g.recv(group_rank(before));
  CHECK(got.item<std::int32_t>(0) == before);
  auto const objects = co_await g.gather_objects(std::to_string(me), group_rank(n - 1));
  for (int r = 0; r < static_cast<int>(objects.size()); ++r)
    REQUIRE(objects[static_cast<std::size_t>(r)] == std::to_string(r));
  auto in = tensor::arange(dtype::i32, {n}, 1000 * me);
  auto out = tensor::zeros(dtype::i32, {n});
  co_await g.all_to_all(out, in);
  int wrong = 0;
  for (int r = 0; r < n; ++r) wrong += out.item<std::int32_t>(r) != 1000 * r + me;
  CHECK(wrong == 0);
  auto sum = tensor::full(dtype::i64, {1}, me);
  co_await g.all_reduce(sum);
  CHECK(sum.item<std::int64_t>(0) == n * (n - 1) / 2);
  if (me < 257) co_return;
  auto const high = co_await make_group(w, rank_group::consecutive(world_rank(257), n - 257));
  auto t = number(me);
  co_await high.broadcast(t, world_rank(n - 1));
  CHECK(t.item<std::int32_t>(0) == n - 1);
}

}  // namespace

TEST_CASE("300 ranks send, exchange, reduce and gather objects, also in a group past rank 256") {
  run_ranks_everywhere(300, past_a_byte);
}

#ifndef HOCKET_SANITIZED  // whose shadow memory makes these large

TEST_CASE("counts that differ by 2^32 are a mismatch, not the same") {
  virtual_world v(2);
  auto const large = v.group(0).broadcast(tensor::empty(dtype::u8, {four_gib + 5}), group_rank(1));
  auto const small = v.group(1).broadcast(tensor::zeros(dtype::u8, {5}), group_rank(1));
  for (auto const& w : {large, small}) {
    CHECK(now(w).code == errc::mismatch);
    CHECK_MESSAGE(now(w).tells("u8[4294967301]"), now(w).story);
    CHECK_MESSAGE(now(w).tells("u8[5]"), now(w).story);
  }
}

TEST_CASE("elements past 2^32 are sent, received, split and gathered from where they are") {
  virtual_world v(2);
  auto const whole = tensor::empty(dtype::u8, {four_gib + 700});
  auto const tail = patterned(dtype::u8, {697}, 1);
  copy(whole.slice(0, four_gib + 3, 697), tail);
  v.group(0).send(whole.slice(0, four_gib + 3, 697), group_rank(1));
  auto const got = v.group(1).recv(group_rank(0));
  CHECK(equal(got.state()->take(), tail));
  auto const there = tensor::empty(dtype::u8, {four_gib + 9});
  v.group(0).send(tail.slice(0, 0, 5), group_rank(1));
  auto const into = v.group(1).recv(there.slice(0, four_gib + 1, 5), group_rank(0));
  CHECK_FALSE(now(into).code);
  CHECK(equal(there.slice(0, four_gib + 1, 5), tail.slice(0, 0, 5)));
  std::vector<std::int64_t> const sizes{four_gib + 3, 690, 7};
  auto const plan = make_split_plan(sizes, 0);
  CHECK(equal(split(whole, plan, 1), tail.slice(0, 0, 690)));
  CHECK(equal(split(whole, plan, 2), tail.slice(0, 690, 7)));
}

#endif

TEST_CASE("plans over lengths past 2^32 cover them exactly") {
  for (std::int64_t const length : {3 * four_gib / 2 + 1, std::int64_t{1} << 62}) {
    auto const plan = make_split_plan(layout::balanced, length, 7, 0);
    std::int64_t at = 0;
    for (int part = 0; part < 7; ++part) {
      CHECK(plan.pieces(part)[0].full_start == at);
      CHECK(plan.part_size(part) == length / 7 + (part < length % 7 ? 1 : 0));
      at += plan.part_size(part);
    }
    CHECK(at == length);
  }
}

TEST_CASE("tags, channels and keys differ in all their bits") {
  virtual_world v(2);
  auto const a = v.group(0);
  auto const b = v.group(1);
  for (int bit : {8, 16, 31, 32, 48, 61}) {
    CAPTURE(bit);
    auto const other = (std::uint64_t{1} << bit) + 7;
    auto const low = b.recv(group_rank(0), op_options().tag(7));
    auto const high = b.recv(group_rank(0), op_options().tag(other));
    a.send(number(2), group_rank(1), op_options().tag(other));
    a.send(number(1), group_rank(1), op_options().tag(7));
    CHECK(low.state()->take().item<std::int32_t>(0) == 1);
    CHECK(high.state()->take().item<std::int32_t>(0) == 2);
    auto const waits = a.channel(7).barrier();
    CHECK_FALSE(b.channel(other).barrier().ready());
    CHECK_FALSE(waits.ready());
    CHECK(b.channel(7).barrier().ready());
    CHECK(a.channel(other).barrier().ready());
    auto const keyed = a.keyed(other).barrier();
    CHECK_FALSE(b.keyed(7).barrier().ready());
    CHECK(b.keyed(other).barrier().ready());
    CHECK(a.keyed(7).barrier().ready());
    for (auto const* g : {&a, &b}) g->channel(other).close_channel();
  }
}
