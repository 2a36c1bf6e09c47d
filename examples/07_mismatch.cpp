// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Three ranks that disagree: every one of them is told who called what, and where, instead of a
// hang or wrong numbers. Other arguments cost one operation, other operations their channel.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <cstdio>
#include <hocket/hocket.hpp>
#include <utility>

namespace asio = boost::asio;
using hocket::dtype;
using hocket::tensor;

namespace {

auto const root = hocket::group_rank(0);

// Waits for an operation that fails and prints what this rank is told.
asio::awaitable<void> tell(int rank, hocket::work<> w) {
  try {
    co_await std::move(w);
    std::printf("rank %d: WRONG, nobody noticed\n", rank);
  } catch (hocket::error const& e) {
    std::printf("rank %d, %s: %s\n", rank, e.code().message().c_str(), e.what());
  }
}

// Rank 2 has a row too few.
asio::awaitable<void> other_arguments(hocket::process_group g, int me) {
  auto x = tensor::zeros(dtype::f32, {me == 2 ? 7 : 8, 16});
  co_await tell(me, g.broadcast(x, root));
}

// Rank 1 skips the gather and calls what comes after it.
asio::awaitable<void> other_operations(hocket::process_group g, int me) {
  auto x = tensor::zeros(dtype::f32, {4});
  auto all = tensor::zeros(dtype::f32, {12});
  if (me == 1) {
    co_await tell(me, g.all_reduce(x));
  } else {
    co_await tell(me, g.all_gather(all, x));
  }
  co_await tell(me, g.barrier());  // the ranks are out of step: fails at once
}

asio::awaitable<void> rank_main(hocket::world w) {
  auto g = w.group();
  int const me = w.rank().value();
  co_await other_arguments(g, me);
  co_await g.barrier();  // the group goes on

  auto request = g.channel(7);
  co_await other_operations(request, me);
  request.close_channel();

  auto sum = tensor::full(dtype::i32, {1}, me);
  co_await g.all_reduce(sum);  // the other channels are not concerned
  if (me == 0) std::printf("afterwards the group adds up to %d\n", sum.item<std::int32_t>(0));
}

}  // namespace

int main() {
  asio::io_context ctx;
  hocket::local_world ranks(ctx.get_executor(), 3);
  ranks.spawn(rank_main);
  ctx.run();
  ranks.rethrow();
}
