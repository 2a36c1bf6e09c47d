// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"

namespace hocket::tools {

using detail::unique_fd;

/// A failed system call as `hocket::error` with its code.
[[noreturn]] void throw_system(int code, std::string const& story);

struct pipe_ends {
  unique_fd read;
  unique_fd write;
};

/// A pipe that no program started later inherits.
[[nodiscard]] pipe_ends make_pipe();

/// What the launcher changes in its own process before it starts ranks, which get it back: signals
/// arrive through a descriptor, unless they are ignored, SIGPIPE is an error code, more descriptors
/// may be open.
class process_state {
 public:
  process_state();
  /// Allows `descriptors` of them, or throws with the numbers.
  void allow_descriptors(rlim_t descriptors);
  /// Called between fork and exec.
  void restore() const noexcept;
  /// Readable when one of the signals has come; of the calling process, so made after a fork.
  [[nodiscard]] unique_fd open_signals() const;

 private:
  sigset_t taken_{};
  sigset_t mask_{};
  struct sigaction pipe_ {};
  struct sigaction child_ {};
  std::optional<rlimit> descriptors_;
};

struct rank_program {
  std::vector<std::string> args;
  std::vector<std::string> environment;
  int input = 0;  ///< becomes its stdin
};

/// A running rank: the leader of its own process group, ended by the kernel with its parent.
struct rank_process {
  pid_t pid = 0;
  unique_fd output;  ///< what it writes to stdout; does not block
  unique_fd errors;  ///< likewise stderr
};

/// Starts a rank and returns once it runs the program. `start_error` if it cannot: 127 if there is
/// no such program, 126 if it may not be run.
[[nodiscard]] rank_process start_rank(rank_program const& program, process_state const& state);

/// The processes whose parent is the calling one, those it adopted included.
[[nodiscard]] std::vector<pid_t> own_children();

}  // namespace hocket::tools
