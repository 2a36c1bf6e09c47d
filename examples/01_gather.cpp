// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Three ranks in one process: each takes its part of a sequence, then all gather the whole again.
// [program]
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <hocket/hocket.hpp>

namespace asio = boost::asio;

asio::awaitable<void> rank_main(hocket::world w) {
  auto x = hocket::tensor::arange(hocket::dtype::f32, {2, 12, 4});
  auto part = hocket::split_inputs_cp(x, 1, w.group());              // 2 x 4 x 4: our third
  auto full = co_await hocket::cat_outputs_cp(part, 1, w.group());   // 2 x 12 x 4 again
  std::printf("rank %d of %d: part %s, full %s, %s\n", w.rank().value(), w.size(),
              to_string(part.shape()).c_str(), to_string(full.shape()).c_str(),
              equal(x, full) ? "equal to the input" : "WRONG");
}

int main() {
  asio::io_context ctx;
  hocket::local_world ranks(ctx.get_executor(), 3);
  ranks.spawn(rank_main);
  ctx.run();
  ranks.rethrow();
}
// [program]
