// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/launch/secret.hpp>
#include <memory>
#include <string>

#include "base/unique_fd.hpp"

namespace hocket::tools {

using detail::unique_fd;

/// The store of a job, served by a thread of the launcher for as long as the object lives.
class job_store {
 public:
  /// `listening` is a socket that ranks can connect to from now on; they are answered from `start`
  /// on. `is_open`: plain TCPStore clients are served, too.
  job_store(unique_fd listening, launch_secret const& secret, std::string const& job, bool is_open);
  ~job_store();
  job_store(job_store const&) = delete;
  job_store& operator=(job_store const&) = delete;

  /// Call it when no process is started any more: a fork copies one thread only.
  void start();
  /// Tells whoever watches that a rank's process has ended; returns when the store has it.
  void report_death(int rank, std::string const& story);
  /// Waits for its clients to leave, for a moment at most.
  void drain() noexcept;

 private:
  class serving;
  std::unique_ptr<serving> serving_;
  int deaths_ = 0;
};

}  // namespace hocket::tools
