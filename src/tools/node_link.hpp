// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <chrono>
#include <cstdint>
#include <hocket/async/clock.hpp>
#include <hocket/launch/secret.hpp>
#include <memory>
#include <optional>
#include <string>

namespace hocket::tools {

/// Where a launcher stands in a job on several hosts, each with as many ranks.
struct node_place {
  int node = 0;
  int nodes = 1;
  std::string host = "127.0.0.1";  ///< of the job's store, which node 0's launcher serves
  std::uint16_t port = 0;
  launch_secret secret;                             ///< the same on all nodes
  clock::duration limit = std::chrono::minutes(5);  ///< for reaching the store
};

/// A socket that listens where the job's store is to be. The loopback and nothing else, unless the
/// address is another one; a name that means the loopback only on this host: all addresses.
[[nodiscard]] int listen_for_nodes(node_place const& place);

/// What all launchers of a job hear of its end.
struct job_end {
  int status = 0;  ///< of the job
  std::string story;
};

/// A launcher among those of the other nodes: all are clients of the job's store. A thread of its
/// own keeps the connection; the calls wait for the store for a second or so at most.
class node_link {
 public:
  /// `ranks` has to be the same on all nodes. Call `start` when no process is started any more.
  node_link(node_place const& place, int ranks, std::string const& job);
  ~node_link();
  node_link(node_link const&) = delete;
  node_link& operator=(node_link const&) = delete;

  void start();
  /// Readable once the end is known.
  [[nodiscard]] int wake_fd() const noexcept;
  /// How the job has ended: a node has failed, all are done, or the store is not to be reached.
  [[nodiscard]] std::optional<job_end> end() const;

  void report_death(int rank, std::string const& story) noexcept;
  /// The first node that fails ends the job.
  void report_failure(int status, std::string const& story) noexcept;
  /// All ranks of this node have ended well.
  void report_done() noexcept;

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace hocket::tools
