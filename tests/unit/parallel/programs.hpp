// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <doctest/doctest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <hocket/error.hpp>
#include <hocket/group/local_world.hpp>
#include <string>

#include "host_ranks.hpp"

namespace hocket::test {

using program = boost::asio::awaitable<void> (*)(world);

/// Runs a program as `n` ranks, first on one thread, then on a pool of three. With
/// HOCKET_TEST_ENGINE=host they are ranks of the host engine.
inline void run_everywhere(int n, program rank_main) {
  CAPTURE(n);
  if (wants_host_ranks()) {
    run_host_ranks(n, rank_main);
    return run_host_ranks_on_pool(n, rank_main);
  }
  {
    boost::asio::io_context ctx;
    local_world ranks(ctx.get_executor(), n);
    ranks.spawn(rank_main);
    ctx.run();
    ranks.rethrow();
  }
  boost::asio::thread_pool pool(3);
  local_world ranks(pool.get_executor(), n);
  ranks.spawn(rank_main);
  pool.join();
  ranks.rethrow();
}

/// How a wait ended: the code and story of a failure, or nothing.
class outcome {
 public:
  outcome() = default;
  boost::system::error_code code;
  std::string story;
  [[nodiscard]] bool says(std::string const& text) const {
    return story.find(text) != std::string::npos;
  }
};

template <class T>
boost::asio::awaitable<outcome> outcome_of(work<T> w) {
  outcome result;
  try {
    co_await std::move(w);
  } catch (boost::system::system_error const& e) {
    result.code = e.code();
    result.story = e.what();
  }
  co_return result;
}

/// Elements that say which rank made them and where they stood.
inline tensor numbered(dtype type, shape const& extents, int rank) {
  return tensor::arange(type, extents, 1000 * (rank + 1));
}

}  // namespace hocket::test
