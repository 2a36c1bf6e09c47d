// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// A running world gets another topology, and its weights move to where they belong now: from tp 4
// to tp 2 x dp 2, with no byte more than needed.
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <hocket/hocket.hpp>

namespace asio = boost::asio;
using hocket::axis;

asio::awaitable<void> rank_main(hocket::world w) {
  auto state = co_await hocket::initialize_model_parallel(w, 4);  // tp 4
  hocket::device_mesh wide(state, hocket::mesh_axes(axis::tp));
  auto all = hocket::tensor::arange(hocket::dtype::f32, {10, 3});
  auto weight = hocket::distribute_tensor(all, wide, hocket::shard(0));  // 3, 3, 2 and 2 rows

  hocket::axis_sizes sizes;
  sizes.tp = 2;
  auto changed = co_await state.reshape(sizes, hocket::order());  // dp is what is left: 2
  hocket::device_mesh square(changed, hocket::mesh_axes(axis::dp, axis::tp));
  hocket::placements where(hocket::replicate(), hocket::shard(0));
  auto moved = co_await hocket::redistribute(weight, square, where, w.group());

  auto right = hocket::distribute_tensor(all, square, where);
  auto needed = hocket::redistribute_bytes(weight.dtype(), weight.shape(), wide.layout(),
                                           weight.where(), square.layout(), where);
  std::printf("rank %d: %s, was %s, %s; %llu of %llu bytes came here\n", w.rank().value(),
              brief(moved.to_local()).c_str(), brief(weight.to_local()).c_str(),
              equal(moved.to_local(), right.to_local()) ? "right" : "WRONG",
              static_cast<unsigned long long>(square.bytes_received()),
              static_cast<unsigned long long>(needed));
  co_await hocket::destroy_model_parallel(changed);
}

int main() {
  asio::io_context ctx;
  hocket::local_world ranks(ctx.get_executor(), 4);
  ranks.spawn(rank_main);
  ctx.run();
  ranks.rethrow();
}
