// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/address.hpp"

namespace hocket::host {

/// Where a rank's process can be reached.
struct peer_place {
  std::vector<io::address> addresses;  ///< the first that answers is taken
  std::string host;                    ///< equal for processes that see one another's pids
  ::pid_t process = 0;
  std::uint64_t seal = 0;              ///< where the process's seal lies in its memory
};

[[nodiscard]] std::string encode(peer_place const& p);
/// `errc::corrupt` for anything else.
[[nodiscard]] peer_place decode_place(std::string const& text);

/// Finds out where ranks are. Any thread may call.
class directory {
 public:
  /// With a place, or why there is none.
  using found = std::function<void(peer_place const& where, std::string const& why_not)>;
  virtual ~directory() = default;
  /// Calls back once, from any thread, perhaps before it returns, perhaps never (a rank that never
  /// says where it is).
  virtual void find(int rank, found then) = 0;
};

}  // namespace hocket::host
