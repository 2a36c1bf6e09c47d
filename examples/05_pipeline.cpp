// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Three pipeline stages, five microbatches of different sizes: each stage takes the next one as
// soon as it has handed the last one on, and shapes travel with the data.
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <cstdio>
#include <hocket/hocket.hpp>

namespace asio = boost::asio;

namespace {

constexpr int microbatches = 5;

// y = x + (stage + 1), on this stage's own worker.
asio::awaitable<hocket::tensor> stage_forward(hocket::host_stream& device, hocket::tensor x,
                                              int stage) {
  auto y = x.clone();
  auto forward = [&y, stage] {
    for (std::int64_t i = 0; i < y.numel(); ++i)
      y.data<float>()[i] += static_cast<float>(stage + 1);
  };
  co_await device.run(forward);
  co_return y;
}

asio::awaitable<void> rank_main(hocket::world w) {
  hocket::axis_sizes sizes;
  sizes.pp = w.size();
  auto state = co_await hocket::ParallelState::init(w, sizes);
  auto pipe = hocket::init_pp_scheduler(state);
  hocket::host_stream device;

  for (int m = 0; m < microbatches; ++m) {
    hocket::tensor x;
    if (state.is_first_pp_stage()) {
      x = hocket::tensor::full(hocket::dtype::f32, {m + 1, 2}, 100 * m);  // m + 1 rows
    } else {
      x = co_await pipe.recv_prev_data();
    }
    auto y = co_await stage_forward(device, x, state.pp_rank());
    if (state.is_last_pp_stage()) {
      std::printf("microbatch %d: %s of %.0f\n", m, to_string(y.shape()).c_str(),
                  static_cast<double>(y.item<float>(m, 1)));
    } else {
      pipe.isend_next(y);  // not awaited: the operation owns y
    }
  }
  co_await hocket::destroy_model_parallel(state);
}

}  // namespace

int main() {
  asio::io_context ctx;
  hocket::local_world ranks(ctx.get_executor(), 3);
  ranks.spawn(rank_main);
  ctx.run();
  ranks.rethrow();
}
