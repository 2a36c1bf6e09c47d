// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Every operation that moves tensors, bit for bit: all dtypes, shapes, layouts, groups and roots.
#include <doctest/doctest.h>

#include "engine_under_test.hpp"
#include "operations.hpp"

using namespace hocket;
using namespace hocket::conformance;
namespace asio = boost::asio;

namespace {

std::vector<extents> const& small_shapes() {
  static std::vector<extents> const all{
      {}, {1}, {0}, {1, 0, 2}, {7, 3}, {3, 1, 5}, {2, 2, 3, 1, 2}, {257}};
  return all;
}

// The same trials on every member: all that is drawn comes from `number`.
asio::awaitable<void> try_one(seat at, tried op, extents part, dtype type, std::uint64_t number) {
  trial t(std::move(at), op.name);
  t.part = std::move(part);
  t.dtype = type;
  t.in = static_cast<form>(number % form_count);
  t.out = static_cast<form>(number / form_count % form_count);
  t.seed = number * 1000 + seed();
  auto running = op.run(std::move(t));
  co_await std::move(running);
}

asio::awaitable<void> shapes_and_layouts(world w) {
  auto const seats = co_await seats_of(w);
  for (auto const& at : seats) {
    std::uint64_t number = 0;
    bool const is_whole = at.grouping == "all";
    for (auto const& op : movements())
      for (auto const& s : small_shapes())
        for (int again = 0; again < (is_whole ? 5 : 2); ++again, ++number)
          co_await try_one(at, op, s, static_cast<dtype>(number % dtype_count), number);
  }
}

asio::awaitable<void> dtypes(world w) {
  seat const at(w, "all", w.group());
  std::uint64_t number = 5000;
  extents const small(2, 5);
  for (auto const& op : movements())
    for (int d = 0; d < dtype_count; ++d, ++number)
      co_await try_one(at, op, small, static_cast<dtype>(d), number);
}

// As large as the limits at which an engine moves bytes otherwise, and over them by one element.
asio::awaitable<void> limits(world w) {
  static constexpr std::int64_t sizes[] = {4096, 8192, 65536, 262144};
  auto const seats = co_await seats_of(w);
  for (auto const& at : seats) {
    if (at.grouping != "all" && at.grouping != "without rank 0") continue;
    std::uint64_t number = 9000;
    for (auto const& op : movements())
      for (std::int64_t const bytes : sizes) {
        ++number;
        if (bytes > 8192 && number % 3 != 0) continue;
        auto const type = static_cast<dtype>(number % dtype_count);
        auto const count = bytes / static_cast<std::int64_t>(size_of(type));
        extents const exact(1, count);
        co_await try_one(at, op, exact, type, number);
        extents const over(1, count + 1);
        co_await try_one(at, op, over, type, number);
      }
  }
}

}  // namespace

TEST_CASE(
    "tensors of every shape and layout arrive as they are, in every group and from any root") {
  for (int n : rank_counts) run(n, shapes_and_layouts);
}
TEST_CASE("elements of every dtype arrive bit for bit") {
  for (int n : rank_counts) run(n, dtypes);
  run_on_threads(3, dtypes);
}
TEST_CASE("tensors around the limits where an engine moves them otherwise arrive as they are") {
  for (int n : {1, 2, 3, 5}) run(n, limits);
}
TEST_CASE("the engine that runs is the one that was asked for") {
  run(2, [](world w) -> asio::awaitable<void> {
    CHECK(w.engine_name() == wanted_engine());
    co_return;
  });
}
