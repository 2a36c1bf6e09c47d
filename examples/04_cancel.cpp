// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// A deadline and a cancellation end the wait, not the group: who was late is named, the operation
// still completes, and the next one works.
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <hocket/hocket.hpp>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

asio::awaitable<void> late_rank(hocket::process_group g) {
  asio::steady_timer nap(co_await asio::this_coro::executor, 100ms);
  co_await nap.async_wait(asio::use_awaitable);
  co_await g.barrier();
}

asio::awaitable<void> impatient_rank(hocket::process_group g) {
  auto const soon = hocket::op_options().deadline(20ms);
  auto met = g.barrier(soon);
  try {
    co_await hocket::work(met);
  } catch (hocket::error const& e) {
    std::printf("rank 0, timed_out: %s\n", e.what());
  }
  co_await met.released();  // this rank still took part: the late ones were not disturbed
  std::puts("rank 0: the barrier itself completed");
}

asio::awaitable<void> cancelling_rank(hocket::process_group g) {
  auto met = g.barrier();
  auto const cancel = met.get_canceller();  // any thread may call it
  cancel.cancel();
  try {
    co_await std::move(met);
  } catch (hocket::error const& e) {
    std::printf("rank 1, %s: %s\n", e.code().message().c_str(), e.what());
  }
}

asio::awaitable<void> rank_main(hocket::world w) {
  auto g = w.group();
  int const me = w.rank().value();
  if (me == 0) co_await impatient_rank(g);
  if (me == 1) co_await cancelling_rank(g);
  if (me == 2) co_await late_rank(g);
  auto in = hocket::tensor::full(hocket::dtype::i32, {1}, me);
  auto out = hocket::tensor::empty(hocket::dtype::i32, {w.size()});
  co_await g.all_gather(out, in);
  if (me == 0)
    std::printf("afterwards the group gathers %d %d %d\n", out.item<std::int32_t>(0),
                out.item<std::int32_t>(1), out.item<std::int32_t>(2));
}

}  // namespace

int main() {
  asio::io_context ctx;
  hocket::local_world ranks(ctx.get_executor(), 3);
  ranks.spawn(rank_main);
  ctx.run();
  ranks.rethrow();
}
