// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <exception>
#include <functional>
#include <hocket/async/runtime.hpp>
#include <hocket/group/world.hpp>
#include <memory>
#include <vector>

namespace hocket {

/// How to make a world inside this process.
class local_world_options {
 public:
  local_world_options() = default;
  /// Whose clock and progress thread to use. Default: the process's runtime.
  local_world_options& runtime(hocket::runtime& rt) {
    runtime_ = &rt;
    return *this;
  }
  /// Deadline of operations of the world's group. Default: 30 minutes.
  local_world_options& deadline(clock::duration d) {
    deadline_ = d;
    return *this;
  }
  /// The one that was set, else the process's.
  [[nodiscard]] hocket::runtime& runtime() const {
    return runtime_ != nullptr ? *runtime_ : hocket::runtime::process();
  }
  /// Of operations of the world's group that do not name one.
  [[nodiscard]] clock::duration deadline() const noexcept { return deadline_; }

 private:
  hocket::runtime* runtime_ = nullptr;
  clock::duration deadline_ = std::chrono::minutes(30);
};

/// A world whose ranks are coroutines or threads of this process: for tests, servers on one box and
/// simulation. Bytes are copied between the ranks' buffers.
///
/// A rank that ends by an exception is lost to its peers: what needs it fails with
/// `errc::peer_lost`, naming the rank and the exception's text.
class local_world {
 public:
  /// `n` ranks whose programs run on `executor`, and their handlers that have none of their own; of
  /// a strand, the latter run on the context behind it. Throws errc::invalid_argument unless
  /// n >= 1, and for an empty executor.
  local_world(boost::asio::any_io_executor executor, int n,
              local_world_options const& options = local_world_options());
  ~local_world();
  local_world(local_world const&) = delete;
  local_world& operator=(local_world const&) = delete;

  /// Number of ranks.
  [[nodiscard]] int size() const noexcept;
  /// One rank's view; `errc::group_closed` once its program (see `spawn`) has ended.
  [[nodiscard]] world operator[](int rank) const;

  /// Runs a program as every rank: `rank_main(world)` as a coroutine each, on the executor.
  void spawn(std::function<boost::asio::awaitable<void>(world)> rank_main);
  /// Runs it as one rank. Several programs may be the same rank: they share its world, and the
  /// order of their calls on one channel is theirs to keep. One that throws takes the rank from its
  /// peers if none has ended before; once one has ended, no other can begin: `errc::group_closed`.
  void spawn(int rank, std::function<boost::asio::awaitable<void>(world)> rank_main);

  /// The exception that ended a rank's program, the first one of several; null: it ended well or
  /// still runs.
  [[nodiscard]] std::exception_ptr failure(int rank) const;
  /// Rethrows the failure that came first, if any; say it after the executor's context has run.
  void rethrow() const;

 private:
  class ranks;
  std::shared_ptr<ranks> ranks_;
};

}  // namespace hocket
