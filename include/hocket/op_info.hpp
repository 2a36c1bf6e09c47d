// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <source_location>
#include <string>

namespace hocket {

/// What an operation is, for people: carried by its handle, printed in its errors.
struct op_info {
  char const* operation = "operation";  ///< "all_gather", "recv", ...; a literal
  char const* group = "";               ///< name and ranks, "cp[0,1]"; lives as long as the handle
  std::uint64_t channel = 0;            ///< 0: the group itself
  std::uint64_t sequence = 0;           ///< position among the operations of its channel, from 0
  std::source_location site{};          ///< where the operation was called
};

/// "cp[0,1] ch 7 #41 all_gather (server.cpp:88)"
[[nodiscard]] std::string to_string(op_info const& info);

/// "server.cpp:88"
[[nodiscard]] std::string to_string(std::source_location const& site);

}  // namespace hocket
