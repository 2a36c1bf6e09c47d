// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "io/address.hpp"

namespace hocket::host {

/// Where a rank's process can be reached.
struct peer_place {
  std::vector<io::address> addresses;  ///< the first that answers is taken
  std::string host;                    ///< equal for processes that see one another's pids
  ::pid_t process = 0;
  std::uint64_t seal = 0;  ///< where the process's seal lies in its memory
};

[[nodiscard]] std::string encode(peer_place const& p);
/// `errc::corrupt` for anything else.
[[nodiscard]] peer_place decode_place(std::string const& text);

}  // namespace hocket::host
