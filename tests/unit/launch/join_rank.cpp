// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// A rank that joins by its variables, adds up what all ranks have, and prints the sum; else the
// error, with status 3.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <hocket/group/process_group.hpp>
#include <hocket/launch/join.hpp>

namespace asio = boost::asio;
using hocket::tensor;

namespace {

asio::awaitable<void> rank_main() {
  auto const ex = co_await asio::this_coro::executor;
  auto const w = co_await hocket::join(ex);
  auto sum = tensor::full(hocket::dtype::i32, {1}, 11 * w.rank().value());
  co_await w.group().all_reduce(sum);
  std::printf("%d of %d: %d\n", w.rank().value(), w.size(), sum.item<std::int32_t>(0));
}

}  // namespace

int main() {
  asio::io_context context(1);
  int status = 0;
  asio::co_spawn(context, rank_main(), [&status](std::exception_ptr e) {
    try {
      if (e) std::rethrow_exception(e);
    } catch (std::exception const& failure) {
      std::printf("%s\n", failure.what());
      status = 3;
    }
  });
  context.run();
  return status;
}
