// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <unistd.h>

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <functional>
#include <hocket/group/process_group.hpp>
#include <hocket/group/world.hpp>
#include <hocket/launch/join.hpp>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::test {

using rank_program = std::function<boost::asio::awaitable<void>(world)>;

/// Longer than any program of a test takes; one that takes longer hangs.
inline constexpr auto host_program_max = std::chrono::seconds(40);

/// What hangs in a world's group says so after this time.
inline constexpr auto host_call_max = std::chrono::seconds(20);

/// Ranks of the host engine that share this process: each has sockets and an engine of its own, and
/// they see each other as ranks of other processes do.
class host_ranks {
 public:
  host_ranks(boost::asio::any_io_executor ex, int n)
      : executor_(std::move(ex)), running_(static_cast<std::size_t>(n), true) {
    static std::atomic<int> jobs{0};
    job_ = "test " + std::to_string(::getpid()) + " " + std::to_string(jobs++);
  }

  [[nodiscard]] launch_options options_of(int rank) const {
    int const n = static_cast<int>(running_.size());
    return launch_options()
        .rank(rank)
        .size(n)
        .local_rank(rank)
        .local_size(n)
        .job(job_)
        .engine(engine_choice::host);
  }
  void spawn(rank_program const& rank_main) {
    for (int r = 0; r < static_cast<int>(running_.size()); ++r)
      boost::asio::co_spawn(executor_, run(executor_, options_of(r), rank_main),
                            [this, r](std::exception_ptr e) { ended(r, std::move(e)); });
  }
  /// False: some ranks still run after so long.
  bool wait(std::chrono::seconds limit) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [this] { return left().empty(); });
  }
  [[nodiscard]] std::string running() {
    std::lock_guard const lock(mutex_);
    return left();
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  static boost::asio::awaitable<void> run(boost::asio::any_io_executor ex, launch_options options,
                                          rank_program rank_main) {
    auto joining = join(ex, options);
    auto w = co_await std::move(joining);
    w.group().set_deadline(host_call_max);
    auto program = rank_main(std::move(w));
    co_await std::move(program);
  }
  void ended(int rank, std::exception_ptr e) {
    std::lock_guard const lock(mutex_);
    running_[static_cast<std::size_t>(rank)] = false;
    if (e && !failure_) failure_ = std::move(e);
    changed_.notify_all();
  }
  std::string left() const {
    std::string ranks;
    for (std::size_t r = 0; r < running_.size(); ++r)
      if (running_[r]) ranks += " " + std::to_string(r);
    return ranks;
  }

  boost::asio::any_io_executor const executor_;
  std::string job_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> running_;
  std::exception_ptr failure_;
};

/// Runs a program as `n` ranks of the host engine on one thread until all have ended; rethrows the
/// first failure.
inline void run_host_ranks(int n, rank_program const& rank_main) {
  boost::asio::io_context ctx;
  host_ranks ranks(ctx.get_executor(), n);
  ranks.spawn(rank_main);
  ctx.run_for(host_program_max);
  ranks.rethrow();
  if (auto const left = ranks.running(); !left.empty())
    throw std::runtime_error("these ranks hang:" + left);
}

/// The same on three threads.
inline void run_host_ranks_on_pool(int n, rank_program const& rank_main) {
  boost::asio::thread_pool pool(3);
  host_ranks ranks(pool.get_executor(), n);
  ranks.spawn(rank_main);
  bool const over = ranks.wait(host_program_max);
  if (!over) pool.stop();
  pool.join();
  ranks.rethrow();
  if (!over) throw std::runtime_error("these ranks hang:" + ranks.running());
}

/// Whether programs that any engine can run are to run on the host engine.
inline bool wants_host_ranks() {
  char const* const engine = std::getenv("HOCKET_TEST_ENGINE");
  return engine != nullptr && std::string_view(engine) == "host";
}

}  // namespace hocket::test
