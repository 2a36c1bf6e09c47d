// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <functional>
#include <hocket/group/local_world.hpp>

namespace hocket::test {

/// Runs a program as `n` ranks on one thread until all have ended; rethrows the first failure.
inline void run_ranks(int n, std::function<boost::asio::awaitable<void>(world)> rank_main) {
  boost::asio::io_context ctx;
  local_world ranks(ctx.get_executor(), n);
  ranks.spawn(std::move(rank_main));
  ctx.run();
  ranks.rethrow();
}

}  // namespace hocket::test
