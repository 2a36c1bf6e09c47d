// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Compute while bytes move: the gather is started first and awaited last.
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <hocket/hocket.hpp>
#include <utility>

namespace asio = boost::asio;
using clock_type = std::chrono::steady_clock;

namespace {

double ms_since(clock_type::time_point t) {
  return std::chrono::duration<double, std::milli>(clock_type::now() - t).count();
}

// About as long as the gather takes, on a host_stream's own thread.
double compute(hocket::tensor const& t) {
  double sum = 0;
  for (float const v : t.as_span<float>()) sum += std::sqrt(v + 1.0);
  return sum;
}

asio::awaitable<void> rank_main(hocket::world w) {
  auto group = w.group();
  auto mine = hocket::tensor::full(hocket::dtype::f32, {1 << 21}, w.rank().value());
  auto all = hocket::tensor::empty(hocket::dtype::f32, {(1 << 21) * w.size()});
  hocket::host_stream device;

  co_await group.all_gather(all, mine);  // the first one pays for fresh pages of memory
  co_await group.barrier();
  auto start = clock_type::now();
  co_await group.all_gather(all, mine);
  double const gather_ms = ms_since(start);

  co_await group.barrier();
  start = clock_type::now();
  double sum = co_await device.run([&] { return compute(mine); });
  double const compute_ms = ms_since(start);

  co_await group.barrier();
  start = clock_type::now();
  auto gathered = group.all_gather(all, mine);                     // started, not awaited
  sum += co_await device.run([&] { return compute(mine); });       // meanwhile
  co_await std::move(gathered);
  double const both_ms = ms_since(start);

  std::printf("rank %d: gather %.2f ms, compute %.2f ms, one after the other %.2f, "
              "overlapped %.2f (sum %.0f)\n",
              w.rank().value(), gather_ms, compute_ms, gather_ms + compute_ms, both_ms, sum);
}

}  // namespace

int main() {
  asio::io_context ctx;
  hocket::local_world ranks(ctx.get_executor(), 2);
  ranks.spawn(rank_main);
  ctx.run();
  ranks.rethrow();
}
