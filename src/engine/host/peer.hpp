// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "io/connector.hpp"
#include "out_link.hpp"
#include "peer_place.hpp"

namespace hocket::host {

/// What this process knows of another: where it is, and the connection on which it talks to it.
struct peer {
  peer_place place;
  bool can_read = false;  ///< its memory, as far as is known
  std::size_t next_address = 0;
  std::string complaints;  ///< of the addresses tried
  std::unique_ptr<io::connector> calling;
  out_link link;
};

}  // namespace hocket::host
