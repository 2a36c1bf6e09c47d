// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Ranks that disagree: each gets an error with both calls and where they stand, nothing hangs, and
// the group stays in step.
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <cstdio>
#include <hocket/hocket.hpp>
#include <utility>

namespace asio = boost::asio;
using hocket::tensor;

asio::awaitable<void> rank_main(hocket::world w) {
  auto g = w.group();
  int const me = w.rank().value();
  // Ranks 0 and 1 reduce 8 numbers, rank 2 has counted 6.
  auto x = tensor::full(hocket::dtype::f32, {me == 2 ? 6 : 8}, 1);
  try {
    co_await g.all_reduce(x);
  } catch (hocket::error const& e) {
    std::printf("rank %d, %s: %s\n", me, e.code().message().c_str(), e.what());
  }
  auto sum = tensor::full(hocket::dtype::i32, {1}, me);
  co_await g.all_reduce(sum);
  std::printf("rank %d: afterwards they agree on %d\n", me, sum.item<std::int32_t>(0));
}

int main() {
  asio::io_context ctx;
  hocket::local_world ranks(ctx.get_executor(), 3);
  ranks.spawn(rank_main);
  ctx.run();
  ranks.rethrow();
}
