// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <stdexcept>
#include <string>

namespace hocket::test {

struct program_result {
  int status = -1;  ///< exit status; -1 if a signal ended the program
  std::string output;
};

/// Runs a line of the shell and returns what it wrote to stdout.
inline program_result run_program(std::string const& line) {
  std::FILE* const pipe = ::popen(line.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("no shell: " + line);
  program_result result;
  char buffer[4096];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    result.output.append(buffer, got);
  int const status = ::pclose(pipe);
  if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
  return result;
}

}  // namespace hocket::test
