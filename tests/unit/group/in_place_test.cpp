// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <hocket/tensor/split_plan.hpp>
#include <ranks.hpp>

#include "ending.hpp"

using namespace hocket;
using namespace hocket::test;
namespace asio = boost::asio;

namespace {

tensor rows_of_all(int n) {
  auto whole = tensor::empty(dtype::i32, {2 * n, 3});
  for (int r = 0; r < n; ++r) copy(whole.slice(0, 2 * r, 2), patterned(dtype::i32, {2, 3}, r));
  return whole;
}

asio::awaitable<void> gather_in_place(world w) {
  auto const g = w.group();
  int const me = g.rank().value();
  auto const want = rows_of_all(g.size());
  auto out = tensor::zeros(dtype::i32, want.shape());
  auto const mine = out.slice(0, 2 * me, 2);
  copy(mine, patterned(dtype::i32, {2, 3}, me));
  co_await g.all_gather(out, mine);
  CHECK(equal(out, want));

  auto at_root = tensor::zeros(dtype::i32, want.shape());
  auto const own = at_root.slice(0, 2 * me, 2);
  copy(own, patterned(dtype::i32, {2, 3}, me));
  co_await g.gather(at_root, own, group_rank(0));
  if (me == 0) CHECK(equal(at_root, want));
}

asio::awaitable<void> scatter_in_place(world w) {
  auto const g = w.group();
  int const me = g.rank().value();
  auto const whole = me == 0 ? rows_of_all(g.size()) : tensor();
  auto const out = me == 0 ? whole.slice(0, 0, 2) : tensor::zeros(dtype::i32, {2, 3});
  co_await g.scatter(out, whole, group_rank(0));
  CHECK(equal(out, patterned(dtype::i32, {2, 3}, me)));
}

// Rank 0 gives a part that lies across its place in the output.
asio::awaitable<void> overlap(world w, std::int64_t start) {
  auto const g = w.group();
  auto out = tensor::zeros(dtype::f32, {4 * g.size()});
  auto const in = w.rank().value() == 0 ? out.slice(0, start, 4) : tensor::zeros(dtype::f32, {4});
  auto const e = co_await ended(g.all_gather(out, in));
  if (w.rank().value() == 0) {
    CHECK(e.code == errc::invalid_argument);
    CHECK(e.tells("overlaps"));
  } else {
    CHECK(e.code == errc::peer_failed);
    CHECK(e.tells("rank 0"));
    CHECK(e.tells("overlaps"));
  }
  co_await g.barrier();
}

}  // namespace

TEST_CASE("all_gather and gather work where the input is its own part of the output") {
  for (int n : {1, 2, 3, 5}) run_ranks_everywhere(n, gather_in_place);
}
TEST_CASE("scatter works where the root's output is its own part of the input") {
  for (int n : {1, 2, 3, 5}) run_ranks_everywhere(n, scatter_in_place);
}
TEST_CASE("an input that overlaps the output otherwise fails its rank, and the peers are told") {
  for (std::int64_t start : {1, 3, 4})
    run_ranks_everywhere(2, [=](world w) { return overlap(w, start); });
}
