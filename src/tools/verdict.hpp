// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hocket::tools {

/// What a shell calls the end of a process: its exit status, or 128 + the signal that ended it.
[[nodiscard]] int shell_status(int wait_status);

/// "exited with status 3", or "was ended by signal 11 (SIGSEGV, Segmentation fault)".
[[nodiscard]] std::string describe_end(int wait_status);

/// A command line that a shell reads as the same arguments.
[[nodiscard]] std::string quoted(std::span<std::string const> args);

/// The outcome of a job: the first rank that failed decides, later ones do not count.
class verdict {
 public:
  struct failure {
    int rank = 0;
    pid_t pid = 0;
    int wait_status = 0;
  };

  void ended(failure const& end);
  [[nodiscard]] std::optional<failure> const& first_failure() const { return first_; }
  [[nodiscard]] int exit_status() const;

 private:
  std::optional<failure> first_;
};

/// What the launcher says about the first failure: rank, command, status, its last lines.
[[nodiscard]] std::string failure_report(verdict::failure const& failure, int world,
                                         std::span<std::string const> command,
                                         std::span<std::string const> last_lines);

}  // namespace hocket::tools
