// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// What does one collective cost, alone and with many in flight? Three ranks on one thread; the
// yardstick does the same copies by memcpy and switches coroutines by asio::post.
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>
#include <cstring>
#include <hocket/group/local_world.hpp>
#include <vector>

#include "../support/rounds.hpp"

namespace asio = boost::asio;
using namespace hocket;

namespace {

constexpr int n = 3;

void run(std::function<asio::awaitable<void>(world)> rank_main) {
  asio::io_context ctx(1);
  local_world ranks(ctx.get_executor(), n);
  ranks.spawn(std::move(rank_main));
  ctx.run();
  ranks.rethrow();
}

asio::awaitable<void> yardstick(world w, int ops, std::int64_t count) {
  std::vector<float> in(static_cast<std::size_t>(count)), out(in.size() * n);
  for (int i = 0; i < ops; ++i) {
    for (std::size_t r = 0; r < n; ++r)
      std::memcpy(out.data() + r * in.size(), in.data(), in.size() * sizeof(float));
    co_await asio::post(w.get_executor(), asio::use_awaitable);
  }
}

asio::awaitable<void> one_at_a_time(world w, int ops, std::int64_t count) {
  auto const g = w.group();
  auto const in = tensor::zeros(dtype::f32, {count});
  auto const out = tensor::empty(dtype::f32, {count * n});
  for (int i = 0; i < ops; ++i) co_await g.all_gather(out, in);
}

asio::awaitable<void> window(world w, int ops, std::int64_t count, int channels) {
  auto const in = tensor::zeros(dtype::f32, {count});
  auto const out = tensor::empty(dtype::f32, {count * n});
  std::vector<process_group> groups;
  for (int c = 1; c <= channels; ++c)
    groups.push_back(w.group().channel(static_cast<std::uint64_t>(c)));
  std::vector<work<>> pending;
  pending.reserve(static_cast<std::size_t>(ops));
  for (int i = 0; i < ops; ++i)
    pending.push_back(groups[static_cast<std::size_t>(i % channels)].all_gather(out, in));
  for (auto& p : pending) co_await std::move(p);
  for (auto const& g : groups) g.close_channel();
}

void measure(std::int64_t count) {
  constexpr int ops = 20000;
  bench::competitors c;
  c.add("yardstick: memcpy and post, no library", ops * n,
        [&] { run([&](world w) { return yardstick(w, ops, count); }); });
  c.add("all_gather, one at a time", ops * n,
        [&] { run([&](world w) { return one_at_a_time(w, ops, count); }); });
  c.add("all_gather, 256 in flight on one channel", ops * n, [&] {
    run([&](world w) -> asio::awaitable<void> {
      for (int i = 0; i < ops / 256; ++i) co_await window(w, 256, count, 1);
    });
  });
  c.add("all_gather, 100,000 in flight on 100 channels", 100000 * n,
        [&] { run([&](world w) { return window(w, 100000, count, 100); }); });
  c.print(("a rank's part of an all_gather over 3 ranks, " + std::to_string(count * 4) + " B each")
              .c_str(),
          3);
}

}  // namespace

int main() {
  measure(2);
  measure(256);
}
