// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <boost/system/error_code.hpp>
#include <cstddef>
#include <span>

namespace hocket::io {

using pieces = std::span<iovec const>;

[[nodiscard]] std::size_t byte_count(pieces of) noexcept;

/// What one system call moved: no bytes and no error is the end of the file.
struct moved {
  std::size_t bytes = 0;
  int error = 0;
  [[nodiscard]] bool would_block() const noexcept;
};

[[nodiscard]] msghdr message_of(pieces what) noexcept;
/// Never blocks, never raises SIGPIPE.
[[nodiscard]] moved send_pieces(int socket, pieces what) noexcept;
[[nodiscard]] moved receive_pieces(int socket, pieces where) noexcept;

[[nodiscard]] inline boost::system::error_code system_code(int error) noexcept {
  return {error, boost::system::system_category()};
}

}  // namespace hocket::io
