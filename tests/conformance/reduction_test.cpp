// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Every reduction of every dtype by every operation that reduces.
#include <doctest/doctest.h>

#include "engine_under_test.hpp"
#include "operations.hpp"

using namespace hocket;
using namespace hocket::conformance;
namespace asio = boost::asio;

namespace {

asio::awaitable<void> try_one(seat at, tried op, extents part, int pair, std::uint64_t number) {
  trial t(std::move(at), op.name);
  t.is_reduction = true;
  t.part = std::move(part);
  t.dtype = static_cast<dtype>(pair % dtype_count);
  t.how = static_cast<reduction>(pair / dtype_count % reduction_count);
  t.in = static_cast<form>(number % form_count);
  t.out = static_cast<form>(number / form_count % form_count);
  t.seed = number * 1000 + seed();
  auto running = op.run(std::move(t));
  co_await std::move(running);
}

// Shapes and layouts rotate, so that every operation meets each of them with each reduction.
asio::awaitable<void> every_pair(world w) {
  static std::vector<extents> const shapes{{7, 3}, {}, {0, 3}, {31}, {3, 1, 5}, {1}, {2, 2, 2, 3}};
  seat const at(w, "all", w.group());
  std::uint64_t number = 0;
  for (auto const& op : reductions())
    for (int pair = 0; pair < dtype_count * reduction_count; ++pair, ++number)
      co_await try_one(at, op, shapes[number % shapes.size()], pair, number);
}

asio::awaitable<void> every_group(world w) {
  static std::vector<extents> const shapes{{5, 3}, {}, {0}, {1, 7}, {257}};
  auto const seats = co_await seats_of(w);
  for (auto const& at : seats) {
    std::uint64_t number = 7000;
    for (auto const& op : reductions())
      for (auto const& s : shapes)
        for (int again = 0; again < 5; ++again, ++number)
          co_await try_one(at, op, s, static_cast<int>(number * 7 % 153), number);
  }
}

// Around the limits where an engine reduces in pieces.
asio::awaitable<void> limits(world w) {
  static constexpr std::int64_t counts[] = {1023, 1024, 1025, 4097, 16385, 65537};
  seat const at(w, "all", w.group());
  std::uint64_t number = 9000;
  for (auto const& op : reductions())
    for (std::int64_t const count : counts) {
      extents const e(1, count);
      co_await try_one(at, op, e, static_cast<int>(number * 11 % 153), number);
      co_await try_one(at, op, e, static_cast<int>(dtype::f32), number);  // f32 sum
      ++number;
    }
}

// Sums that depend on their order have the same bits on all ranks, and in every run.
asio::awaitable<void> same_bits(world w) {
  auto const g = w.group();
  for (int d = 0; d < 4; ++d) {
    auto const type = static_cast<dtype>(static_cast<int>(dtype::f16) + d);
    auto given = numbers(type, reduction::sum, extents(1, 3001), seed(), g.rank().value());
    for (std::int64_t i = 0; i < given.count(); ++i)  // any exponent but the highest ones
      given.at(i)[size_of(type) - 1] &= std::byte{0xb7};
    for (std::int64_t i = 0; i < given.count(); i += 3) given.at(i)[0] ^= std::byte(i & 255);
    auto const once = tensor_of(given);
    auto const again = tensor_of(given);
    co_await g.all_reduce(once);
    co_await g.all_reduce(again);
    CHECK(buffer::read(once).bytes == buffer::read(again).bytes);
    auto all = tensor::empty(type, {g.size() * 3001});
    co_await g.all_gather(all, once);
    for (int r = 0; r < g.size(); ++r)
      CHECK(buffer::read(all.slice(0, r * 3001, 3001)).bytes == buffer::read(once).bytes);
  }
}

}  // namespace

TEST_CASE("every reduction of every dtype is exact where it has a meaning and refused elsewhere") {
  for (int n : rank_counts) run(n, every_pair);
  run_on_threads(4, every_pair);
}
TEST_CASE("reductions of every shape and layout are right in every group and for any root") {
  for (int n : rank_counts) run(n, every_group);
}
TEST_CASE("reductions around the limits where an engine cuts them are right") {
  for (int n : {2, 3, 5}) run(n, limits);
}
TEST_CASE("a sum has the same bits on all ranks and in every run, whatever its order") {
  for (int n : rank_counts) run_everywhere(n, same_bits);
}
