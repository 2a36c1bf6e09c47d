// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <hocket/error.hpp>
#include <ranks.hpp>
#include <string>

using namespace hocket;
namespace asio = boost::asio;

namespace {

asio::awaitable<void> gather_ranks(world w) {
  auto g = w.group();
  auto in = tensor::arange(dtype::i32, {2, 3}, 100 * w.rank().value());
  auto out = tensor::empty(dtype::i32, {2 * w.size(), 3});
  co_await g.all_gather(out, in);
  for (int r = 0; r < w.size(); ++r) {
    CHECK(out.item<std::int32_t>(2 * r, 0) == 100 * r);
    CHECK(out.item<std::int32_t>(2 * r + 1, 2) == 100 * r + 5);
  }
}

asio::awaitable<void> ring(world w) {
  auto g = w.group();
  int const n = g.size();
  int const me = g.rank().value();
  auto x = tensor::full(dtype::f32, {5}, me);
  g.send(x, group_rank((me + 1) % n));
  auto got = co_await g.recv(group_rank((me + n - 1) % n));
  CHECK(got.shape() == shape(5));
  CHECK(got.item<float>(4) == static_cast<float>((me + n - 1) % n));
}

asio::awaitable<void> disagree(world w) {
  auto g = w.group();
  std::string story;
  boost::system::error_code code;
  try {
    if (w.rank().value() == 1) {
      co_await g.barrier();
    } else {
      auto t = tensor::zeros(dtype::f32, {4});
      co_await g.broadcast(t, group_rank(0));
    }
  } catch (error const& e) {
    story = e.what();
    code = e.code();
  }
  CHECK(code == errc::mismatch);
  CHECK(story.find("rank 1 barrier") != std::string::npos);
}

asio::awaitable<void> sub_groups(world w) {
  int const me = w.rank().value();
  if (me == 0) co_return;
  auto g = co_await make_group(w, rank_group::of(3, 1, 2));
  CHECK(g.rank().value() == (me == 3 ? 0 : me));
  auto out = tensor::empty(dtype::i64, {3});
  auto in = tensor::full(dtype::i64, {1}, me);
  co_await g.all_gather(out, in);
  CHECK(out.item<std::int64_t>(0) == 3);
  CHECK(out.item<std::int64_t>(1) == 1);
  CHECK(out.item<std::int64_t>(2) == 2);
}

}  // namespace

TEST_CASE("all_gather of 2x3 over 1 to 5 ranks puts every rank's rows in group order") {
  for (int n : {1, 2, 3, 5}) hocket::test::run_ranks(n, gather_ranks);
}
TEST_CASE("a ring of sends and receives of unknown shape completes") {
  for (int n : {1, 2, 3, 5}) hocket::test::run_ranks(n, ring);
}
TEST_CASE("ranks that call different operations are told by whom and where") {
  hocket::test::run_ranks(3, disagree);
}
TEST_CASE("a sub-group without rank 0 keeps the order of its list") {
  hocket::test::run_ranks(4, sub_groups);
}
