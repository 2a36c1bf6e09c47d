// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace embed {

/// What the command line asks for.
struct command_line {
  bool help = false;
  int cp = 1;
  int pp = 1;
  std::size_t in_flight = 0;
  std::filesystem::path model;  ///< empty: the usual place
  bool tiny = false;
  std::optional<std::size_t> neighbours;  ///< pairs to print instead of vectors
  std::string file;                       ///< "-": standard input
};

/// Ranks of one run, at most.
inline constexpr int ranks_max = 256;

/// Throws `errc::invalid_argument` with the option and its value for anything that makes no run.
[[nodiscard]] command_line parse_command_line(int argc, char const* const* argv);

[[nodiscard]] std::string help_text();

}  // namespace embed
