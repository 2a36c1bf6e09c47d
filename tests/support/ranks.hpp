// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <hocket/group/local_world.hpp>

#include "host_ranks.hpp"

namespace hocket::test {

/// Runs a program as `n` ranks on one thread until all have ended; rethrows the first failure. With
/// HOCKET_TEST_ENGINE=host they are ranks of the host engine, and the options are not used.
inline void run_ranks(int n, rank_program rank_main,
                      local_world_options const& options = local_world_options()) {
  if (wants_host_ranks()) return run_host_ranks(n, rank_main);
  boost::asio::io_context ctx;
  local_world ranks(ctx.get_executor(), n, options);
  ranks.spawn(std::move(rank_main));
  ctx.run();
  ranks.rethrow();
}

/// The same on three threads.
inline void run_ranks_on_pool(int n, rank_program rank_main) {
  if (wants_host_ranks()) return run_host_ranks_on_pool(n, rank_main);
  boost::asio::thread_pool pool(3);
  local_world ranks(pool.get_executor(), n);
  ranks.spawn(std::move(rank_main));
  pool.join();
  ranks.rethrow();
}

/// Both.
inline void run_ranks_everywhere(int n, rank_program const& rank_main) {
  run_ranks(n, rank_main);
  run_ranks_on_pool(n, rank_main);
}

}  // namespace hocket::test
