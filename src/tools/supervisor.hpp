// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <chrono>
#include <exception>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "job_store.hpp"
#include "node_link.hpp"
#include "output_stream.hpp"
#include "rank_process.hpp"
#include "verdict.hpp"

namespace hocket::tools {

struct run_options {
  int ranks = 1;                     ///< on this host
  bool label = false;                ///< label lines even if no terminal shows them
  std::chrono::seconds grace{2};     ///< from SIGTERM to SIGKILL
  bool open_store = false;           ///< the store serves plain TCPStore clients, too
  std::vector<std::string> program;  ///< with its arguments
  node_place place;                  ///< among the launchers of other hosts
};

/// Starts the ranks of one job, relays what they write, forwards signals, and ends every process
/// that descends from them: after the last rank has ended, after the first one that failed, when
/// their output cannot be written, when they do not heed a signal that asks for the end, and at
/// once when the launcher is gone. Hosts the job's store. This thread only ever waits in poll; the
/// store has one of its own, which starts after the last rank.
class supervisor {
 public:
  using clock = std::chrono::steady_clock;
  /// `launcher` is a pipe that nobody writes to: its end is that of the launcher.
  supervisor(run_options const& options, process_state const& state, unique_fd launcher);

  /// Returns the exit status of the job when no process of it is left. `start_error` if a rank
  /// cannot be started.
  [[nodiscard]] int run();

 private:
  void wait();
  void take_signals();
  void take_signal(int signal);
  void forward(int signal);
  void collect_ended();
  void rank_ended(std::size_t rank, int wait_status);
  void end_all(int signal);
  void escalate();
  void notice_lost_output();
  void sweep();
  [[nodiscard]] unique_fd open_job(std::string& job, std::uint16_t& port, launch_secret& secret);
  void start_ranks(std::string const& job, std::uint16_t port, int secret);
  void notice_end_of_job();
  void report_own_failure(std::string const& story);
  [[nodiscard]] int world() const { return options_.ranks * options_.place.nodes; }
  [[nodiscard]] int world_rank(std::size_t rank) const {
    return options_.ranks * options_.place.node + static_cast<int>(rank);
  }
  [[nodiscard]] bool is_finished() const;
  [[nodiscard]] int poll_timeout() const;
  [[nodiscard]] int result();
  void say(std::string const& text);

  run_options const& options_;
  process_state const& state_;
  unique_fd launcher_;
  unique_fd signals_;
  std::vector<rank_process> ranks_;
  std::vector<last_lines> last_errors_;
  output_stream output_;
  output_stream errors_;
  std::vector<pollfd> waits_;
  verdict verdict_;
  std::optional<job_store> store_;
  std::optional<node_link> link_;  // of several nodes only
  std::optional<job_end> end_;     // as all nodes hear it
  bool has_reported_ = false;
  std::exception_ptr start_failure_;
  int running_ = 0;
  bool has_children_ = true;
  bool launcher_is_gone_ = false;
  int gave_up_on_ = 0;         // the signal that came while only output was left to write
  int ending_ = 0;             // the signal that ends what is left; 0 before the end has begun
  std::set<pid_t> signalled_;  // adopted processes that have got it, and -(groups of ranks)
  int lost_output_ = 0;        // errno of the write that failed before any rank did
  std::optional<clock::time_point> escalate_at_;
};

}  // namespace hocket::tools
