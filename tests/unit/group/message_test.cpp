// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <ranks.hpp>
#include <set>
#include <vector>

#include "ending.hpp"

using namespace hocket;
using namespace hocket::test;
namespace asio = boost::asio;

namespace {

asio::awaitable<void> send_first(process_group g, std::int64_t bytes) {
  int const n = g.size();
  int const me = g.rank().value();
  int const before = (me + n - 1) % n;
  auto const sent = g.send(patterned(dtype::u8, {bytes}, me), group_rank((me + 1) % n));
  auto out = tensor::empty(dtype::u8, {bytes});
  co_await g.recv(out, group_rank(before));
  CHECK(equal(out, patterned(dtype::u8, {bytes}, before)));
  co_await work(sent);
}

asio::awaitable<void> tags(world w) {
  auto const g = w.group();
  if (w.rank().value() == 0) {
    g.send(tensor::full(dtype::f32, {3}, 1), group_rank(1), op_options().tag(1));
    co_await g.channel(1).barrier();
    g.send(tensor::full(dtype::f32, {3}, 2), group_rank(1), op_options().tag(2));
    g.send(tensor::full(dtype::f32, {3}, 3), group_rank(1), op_options().tag(2));
  } else {
    auto const second = g.recv(group_rank(0), op_options().tag(2));
    auto const first = g.recv(group_rank(0), op_options().tag(1));
    auto const third = g.recv(group_rank(0), op_options().tag(2));
    co_await g.channel(1).barrier();
    auto const b = co_await work(second);
    auto const a = co_await work(first);
    auto const c = co_await work(third);
    CHECK(a.item<float>(0) == 1);
    CHECK(b.item<float>(0) == 2);
    CHECK(c.item<float>(0) == 3);
  }
}

asio::awaitable<void> from_any(world w) {
  auto const g = w.group();
  int const n = g.size();
  int const me = g.rank().value();
  if (me != 0) {
    g.send(tensor::full(dtype::i32, {2}, 10 * me), group_rank(0), op_options().tag(9));
    g.send(tensor::full(dtype::i32, {3}, 10 * me + 1), group_rank(0), op_options().tag(9));
    co_return;
  }
  std::multiset<int> got;
  for (int i = 0; i < 2 * (n - 1); ++i) {
    auto const t = co_await g.recv(any_source, op_options().tag(9));
    int const value = t.item<std::int32_t>(0);
    CHECK(t.size(0) == 2 + value % 10);
    if (value % 10 == 1) CHECK(got.count(value - 1) == 1);  // each sender's in its order
    got.insert(value);
  }
  for (int r = 1; r < n; ++r) {
    CHECK(got.count(10 * r) == 1);
    CHECK(got.count(10 * r + 1) == 1);
  }
}

asio::awaitable<void> other_shape(world w) {
  auto const g = w.group();
  auto const t = patterned(dtype::i32, {4, 3}, 1);
  if (w.rank().value() == 0) {
    g.send(t.transpose(0, 1), group_rank(1));
    g.send(t, group_rank(1));
    co_return;
  }
  auto flat = laid_out(form::strided, dtype::i32, {12});
  co_await g.recv(flat, group_rank(0));
  CHECK(equal(flat, t.transpose(0, 1).contiguous().flatten()));
  auto turned = laid_out(form::transposed, dtype::i32, {6, 2});
  co_await g.recv(turned, group_rank(0));
  CHECK(equal(turned, t.reshape({6, 2})));
}

asio::awaitable<void> mismatched(world w) {
  auto const g = w.group();
  int const me = w.rank().value();
  if (me == 0) {
    auto const a = co_await ended(g.send(tensor::zeros(dtype::f32, {4}), group_rank(1)));
    auto const b = co_await ended(g.send(tensor::zeros(dtype::f32, {4}), group_rank(1)));
    CHECK(a.code == errc::mismatch);
    CHECK(b.code == errc::mismatch);
    CHECK(b.tells("shapes differ"));
  } else {
    auto const a = co_await ended(g.recv(tensor::zeros(dtype::f64, {4}), group_rank(0)));
    auto const b = co_await ended(g.recv(tensor::zeros(dtype::f32, {5}), group_rank(0)));
    CHECK(a.code == errc::mismatch);
    CHECK(a.tells("rank 0 send f32[4]"));
    CHECK(a.tells("rank 1 recv f64[4]"));
    CHECK(a.tells("dtypes differ"));
    CHECK(b.code == errc::mismatch);
  }
  co_await send_first(g, 5);
}

// Stage 0 and 1 of two: next and previous are the same peer.
asio::awaitable<void> same_neighbour(world w) {
  auto const g = w.group();
  int const me = w.rank().value();
  group_rank const other(1 - me);
  auto const forward = op_options().tag(1);
  auto const backward = op_options().tag(2);
  g.send(patterned(dtype::f32, {5, 4}, me), other, forward);
  g.send(patterned(dtype::f32, {7, 4}, 10 + me), other, backward);
  auto const from_next = g.recv(other, backward);
  auto const from_previous = co_await g.recv(other, forward);
  auto const grad = co_await work(from_next);
  CHECK(equal(from_previous, patterned(dtype::f32, {5, 4}, 1 - me)));
  CHECK(equal(grad, patterned(dtype::f32, {7, 4}, 11 - me)));
}

asio::awaitable<void> two_of_four(world w) {
  auto const g = w.group();
  int const me = w.rank().value();
  if (me == 1) g.send(patterned(dtype::f32, {3}, 1), group_rank(2));
  if (me == 2) {
    auto const got = co_await g.recv(group_rank(1));
    CHECK(equal(got, patterned(dtype::f32, {3}, 1)));
  }
  if (me == 0) g.send(patterned(dtype::f32, {4}, 0), group_rank(3));
  if (me == 3) co_await g.recv(group_rank(0));
  co_await g.barrier();
}

}  // namespace

TEST_CASE("a ring in which all send first completes at every size") {
  for (int n : {2, 3, 5})
    for (std::int64_t bytes : {1, 65535, 65536, 65537, 131071, 131072, 131073, 6185592, 6185593})
      run_ranks(n, [=](world w) { return send_first(w.group(), bytes); });
  run_ranks_on_pool(3, [](world w) { return send_first(w.group(), 6185593); });
  run_ranks(2, [](world w) { return send_first(w.group(), 64 << 20); });
}
TEST_CASE("messages are matched by tag, and in the order of the calls within one") {
  run_ranks_everywhere(2, tags);
}
TEST_CASE("a receive from any rank takes every message once, each sender's in its order") {
  for (int n : {2, 3, 5}) run_ranks_everywhere(n, from_any);
}
TEST_CASE("a receive into another shape of as many elements keeps their order") {
  run_ranks_everywhere(2, other_shape);
}
TEST_CASE(
    "a message that does not fit its receive fails both, naming both calls, and nothing else") {
  run_ranks_everywhere(2, mismatched);
}
TEST_CASE("two ranks that are each other's next and previous keep their messages apart") {
  run_ranks_everywhere(2, same_neighbour);
}
TEST_CASE("a message needs nobody but its two ranks") { run_ranks_everywhere(4, two_of_four); }
