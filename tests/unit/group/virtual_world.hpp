// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <hocket/async/clock.hpp>
#include <hocket/group/local_world.hpp>

#include "ending.hpp"

namespace hocket::test {

/// Ranks without programs: the test makes their calls itself, and moves the clock.
class virtual_world {
 public:
  explicit virtual_world(int n, clock::duration limit = std::chrono::minutes(30))
      : rt_(runtime_options().clock(clock_).thread(false)),
        ranks_(ctx_.get_executor(), n, local_world_options().runtime(rt_).deadline(limit)) {}

  local_world& ranks() { return ranks_; }
  process_group group(int rank) { return ranks_[rank].group(); }
  void run() {
    ctx_.restart();
    ctx_.poll();
  }
  void pass(clock::duration d) {
    clock_.advance(d);
    rt_.poll();
    run();
  }

 private:
  manual_clock clock_;
  runtime rt_;
  boost::asio::io_context ctx_;
  local_world ranks_;
};

/// How an operation that must be over has ended. No assertion: doctest's messages are made while it
/// holds its lock.
template <class T>
ending now(work<T> const& w) {
  if (!w.ready()) return {make_error_code(errc::would_block), "this operation is not over"};
  return ending_of(w.state()->why().exception);
}

}  // namespace hocket::test
