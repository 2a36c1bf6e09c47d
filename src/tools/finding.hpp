// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::tools {

/// One thing that `hocket doctor` has looked at.
struct finding {
  std::string key;            ///< in the JSON document
  std::string label;          ///< for people
  std::string text;           ///< for people: what is there and what follows from it
  boost::json::object facts;  ///< the same for programs
  bool is_missing = false;    ///< Hocket needs it, and it is not there
};

/// What the system allows this process. Starts two processes that end before it returns: call it
/// before there are threads.
[[nodiscard]] std::vector<finding> examine_permissions();
/// What this machine has: cores, memory, libraries.
[[nodiscard]] std::vector<finding> examine_machine();
/// How Hocket moves bytes here, and why. `can_read_peers`: what the trial copy has shown.
[[nodiscard]] std::vector<finding> examine_choices(bool can_read_peers);
/// The threads that the library starts in a process that uses it.
[[nodiscard]] std::vector<finding> examine_threads();
/// The variables that the library heeds, and those that look so.
[[nodiscard]] std::vector<finding> examine_environment();

/// "2", "64 KiB", "8 MiB", "1.5 GiB".
[[nodiscard]] std::string bytes_text(unsigned long long bytes);
/// The first line of a file; empty if it cannot be read.
[[nodiscard]] std::string first_line(std::string const& path);

}  // namespace hocket::tools
