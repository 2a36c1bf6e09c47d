// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// all_to_all, batches of messages, and barriers that tell who is missing.
#include <hocket/tensor/split_plan.hpp>
#include <ranks.hpp>
#include <vector>

#include "ending.hpp"

using namespace hocket;
using namespace hocket::test;
namespace asio = boost::asio;

namespace {

// What rank `from` has for rank `to`.
tensor piece(int from, int to, std::int64_t rows) {
  return patterned(dtype::f32, {rows, 3}, 100 * from + to);
}

asio::awaitable<void> equal_parts(process_group g, form in_form, form out_form) {
  int const n = g.size();
  int const me = g.rank().value();
  auto in = laid_out(in_form, dtype::f32, {2 * n, 3});
  auto want = tensor::empty(dtype::f32, {2 * n, 3});
  for (int r = 0; r < n; ++r) {
    copy(in.slice(0, 2 * r, 2), piece(me, r, 2));
    copy(want.slice(0, 2 * r, 2), piece(r, me, 2));
  }
  auto out = laid_out(out_form, dtype::f32, {2 * n, 3});
  co_await g.all_to_all(out, in);
  CHECK(equal(out, want));
  co_await g.all_to_all(in, in);
  CHECK(equal(in, want));
}

// Rank r sends (r * p) % 3 rows to rank p: some none at all, and of three ranks rank 0 nothing.
asio::awaitable<void> odd_parts(process_group g) {
  int const n = g.size();
  int const me = g.rank().value();
  std::vector<std::int64_t> to_each;
  std::vector<std::int64_t> from_each;
  for (int r = 0; r < n; ++r) {
    to_each.push_back((me * r) % 3);
    from_each.push_back((r * me) % 3);
  }
  auto const sent = make_split_plan(to_each, 0);
  auto const received = make_split_plan(from_each, 0);
  auto in = laid_out(form::strided, dtype::f32, {sent.length(), 3});
  auto want = tensor::empty(dtype::f32, {received.length(), 3});
  std::int64_t at = 0;
  std::int64_t there = 0;
  for (int r = 0; r < n; ++r) {
    auto const rows = (me * r) % 3;
    copy(in.slice(0, at, rows), piece(me, r, rows));
    copy(want.slice(0, there, rows), piece(r, me, rows));
    at += rows;
    there += rows;
  }
  auto out = laid_out(form::transposed, dtype::f32, want.shape());
  co_await g.all_to_all_v(out, received, in, sent);
  CHECK(equal(out, want));
  co_await g.barrier();
}

asio::awaitable<void> wrong_counts(world w) {
  auto const g = w.group();
  std::vector<std::int64_t> const ones{1, 1};
  std::vector<std::int64_t> const twos{1, 2};
  auto const sent = make_split_plan(w.rank().value() == 0 ? twos : ones, 0);
  auto const received = make_split_plan(ones, 0);
  auto const e = co_await ended(g.all_to_all_v(tensor::zeros(dtype::u8, {2}), received,
                                               tensor::zeros(dtype::u8, {sent.length()}), sent));
  CHECK(e.code == errc::mismatch);
  CHECK_MESSAGE(e.tells("rank 0 sends 2 to rank 1, which expects 1"), e.story);
  auto const uneven =
      co_await ended(g.all_to_all(tensor::zeros(dtype::u8, {5}), tensor::zeros(dtype::u8, {5})));
  CHECK(uneven.code == errc::invalid_argument);
  CHECK_MESSAGE(uneven.tells("5 % 2 = 1"), uneven.story);
  co_await g.barrier();
}

// Both neighbours in one batch; next and previous may be the same rank.
asio::awaitable<void> batches(world w) {
  auto const g = w.group();
  int const n = g.size();
  int const me = g.rank().value();
  group_rank const next((me + 1) % n);
  group_rank const previous((me + n - 1) % n);
  auto const forward = op_options().tag(1);
  auto const backward = op_options().tag(2);
  auto out = tensor::empty(dtype::f32, {7, 4});
  batch b;
  b.recv(previous, forward).recv(out, next, backward);
  b.send(patterned(dtype::f32, {5, 4}, me), next, forward);
  b.send(patterned(dtype::f32, {7, 4}, 10 + me), previous, backward);
  auto const got = co_await g.run(b);
  CHECK(got.size() == 2);
  CHECK(equal(got[0], patterned(dtype::f32, {5, 4}, previous.value())));
  CHECK(equal(out, patterned(dtype::f32, {7, 4}, 10 + next.value())));
  CHECK(got[1].same_object(out));
  auto const none = co_await g.run(batch());
  CHECK(none.empty());
}

// One rank's batch against the other's single calls; a dropped batch is carried out all the same.
asio::awaitable<void> batch_against_calls(world w) {
  auto const g = w.group();
  if (w.rank().value() == 0) {
    {
      batch b;
      for (int i = 0; i < 4; ++i) b.send(tensor::full(dtype::i32, {i + 1}, i), group_rank(1));
      static_cast<void>(g.run(b));
    }
    batch b;
    b.recv(group_rank(1)).recv(tensor::zeros(dtype::f64, {1}), group_rank(1)).recv(group_rank(1));
    auto const e = co_await ended(g.run(b));
    CHECK(e.code == errc::mismatch);  // of the second; the others have come
    co_await g.barrier();
  } else {
    for (int i = 0; i < 4; ++i) {
      auto const t = co_await g.recv(group_rank(0));
      CHECK(t.size(0) == i + 1);
      CHECK(t.item<std::int32_t>(i) == i);
    }
    g.send(tensor::zeros(dtype::u8, {1}), group_rank(0));
    auto const bad = g.send(tensor::zeros(dtype::u8, {1}), group_rank(0));
    g.send(tensor::zeros(dtype::u8, {1}), group_rank(0));
    auto const e = co_await ended(bad);
    CHECK(e.code == errc::mismatch);
    co_await g.barrier();
  }
}

}  // namespace

TEST_CASE("all_to_all hands each rank its part of everybody's, in any layout and in place") {
  for (int n : {1, 2, 3, 5})
    for (auto const in : {form::contiguous, form::transposed})
      for (auto const out : {form::contiguous, form::strided})
        run_ranks_everywhere(n, [=](world w) { return equal_parts(w.group(), in, out); });
}
TEST_CASE("all_to_all_v takes parts of any sizes, also from ranks that send or receive nothing") {
  for (int n : {1, 2, 3, 5}) run_ranks_everywhere(n, [](world w) { return odd_parts(w.group()); });
}
TEST_CASE("an exchange whose two sides count differently fails on all ranks with the counts") {
  run_ranks_everywhere(2, wrong_counts);
}
TEST_CASE("a batch of messages in any order and both directions completes, on two ranks and more") {
  for (int n : {1, 2, 3, 5}) run_ranks_everywhere(n, batches);
}
TEST_CASE("a batch meets single calls, completes when all have, and runs on when it is dropped") {
  run_ranks_everywhere(2, batch_against_calls);
}
