// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <hocket/async/clock.hpp>
#include <hocket/launch/secret.hpp>
#include <optional>
#include <string>
#include <utility>

namespace hocket {

/// Which engine moves the bytes. `automatic`: local for a world of one, host else.
enum class engine_choice { automatic, local, host };

/// This process's place in its job, and how it finds the others. By default a world of one.
class launch_options {
 public:
  /// The value of a variable, nothing if it is not set.
  using lookup = std::function<std::optional<std::string>(char const* name)>;

  launch_options() = default;

  /// What the process's variables say: those of torchrun and `hocket run` (RANK, WORLD_SIZE), else
  /// of Open MPI (OMPI_COMM_WORLD_*), of a PMI launcher (PMI_*), of a SLURM step (SLURM_*); none: a
  /// world of one. MASTER_ADDR, MASTER_PORT and HOCKET_* (JOB_ID, SECRET_FD, SECRET_FILE, ENGINE,
  /// TIMEOUT_MS) go with each of them. `errc::invalid_argument`, with the name and the value of the
  /// variable, where one is wrong or lacks its partner.
  [[nodiscard]] static launch_options from_environment();
  /// The same, of other variables; only the secret is read from where they say.
  [[nodiscard]] static launch_options from_environment(lookup const& variable);

  /// This process's place in the world, from 0.
  launch_options& rank(int r) {
    rank_ = r;
    return *this;
  }
  /// How many ranks the world has.
  launch_options& size(int n) {
    size_ = n;
    return *this;
  }
  /// This process's place among the ranks of its host.
  launch_options& local_rank(int r) {
    local_rank_ = r;
    return *this;
  }
  /// How many ranks this host has.
  launch_options& local_size(int n) {
    local_size_ = n;
    return *this;
  }
  /// Where the store is. An empty host: an abstract Unix socket named by the job.
  launch_options& master(std::string host, std::uint16_t port) {
    master_host_ = std::move(host);
    master_port_ = port;
    return *this;
  }
  /// The launcher hosts the store; else rank 0 does.
  launch_options& agent_store(bool yes) {
    agent_store_ = yes;
    return *this;
  }
  /// Told from other jobs at the same address by this name.
  launch_options& job(std::string id) {
    job_ = std::move(id);
    return *this;
  }
  /// Counts the jobs that meet at one address one after another: a store that rank 0 hosts refuses
  /// ranks of another epoch. No variable says it.
  launch_options& epoch(std::uint64_t e) {
    epoch_ = e;
    return *this;
  }
  /// What the ranks of the job know and nobody else. Default: none.
  launch_options& secret(launch_secret const& s) {
    secret_ = s;
    return *this;
  }
  /// Who moves the bytes.
  launch_options& engine(engine_choice e) {
    engine_ = e;
    return *this;
  }
  /// Of the start-up, and of the calls of the store.
  launch_options& timeout(clock::duration d) {
    timeout_ = d;
    return *this;
  }

  /// @{
  /// What was set, else the default.
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  /// The place among the ranks of this host. Where a launcher does not say, each rank counts as
  /// alone on its host.
  [[nodiscard]] int local_rank() const noexcept { return local_rank_; }
  [[nodiscard]] int local_size() const noexcept { return local_size_; }
  [[nodiscard]] std::string const& master_host() const noexcept { return master_host_; }
  [[nodiscard]] std::uint16_t master_port() const noexcept { return master_port_; }
  [[nodiscard]] bool agent_store() const noexcept { return agent_store_; }
  [[nodiscard]] std::string const& job() const noexcept { return job_; }
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] launch_secret const& secret() const noexcept { return secret_; }
  [[nodiscard]] engine_choice engine() const noexcept { return engine_; }
  [[nodiscard]] clock::duration timeout() const noexcept { return timeout_; }

  /// `errc::invalid_argument` with the numbers if they contradict each other.
  void check() const;
  /// @}

 private:
  int rank_ = 0;
  int size_ = 1;
  int local_rank_ = 0;
  int local_size_ = 1;
  std::string master_host_;
  std::uint16_t master_port_ = 0;
  bool agent_store_ = false;
  std::string job_;
  std::uint64_t epoch_ = 0;
  launch_secret secret_;
  engine_choice engine_ = engine_choice::automatic;
  clock::duration timeout_ = std::chrono::minutes(5);
};

}  // namespace hocket
