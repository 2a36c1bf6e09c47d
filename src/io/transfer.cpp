// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "io/transfer.hpp"

#include <cerrno>

namespace hocket::io {
namespace {

template <class Call>
moved until_uninterrupted(Call const& call) noexcept {
  for (;;) {
    ssize_t const n = call();
    if (n >= 0) return {static_cast<std::size_t>(n), 0};
    if (errno != EINTR) return {0, errno};
  }
}

}  // namespace

std::size_t byte_count(pieces of) noexcept {
  std::size_t sum = 0;
  for (auto const& piece : of) sum += piece.iov_len;
  return sum;
}

bool moved::would_block() const noexcept { return error == EAGAIN || error == EWOULDBLOCK; }

msghdr message_of(pieces what) noexcept {
  msghdr m{};
  m.msg_iov = const_cast<iovec*>(what.data());  // the kernel only reads the pieces
  m.msg_iovlen = what.size();
  return m;
}

moved send_pieces(int socket, pieces what) noexcept {
  msghdr const m = message_of(what);
  return until_uninterrupted([&] { return ::sendmsg(socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT); });
}

moved receive_pieces(int socket, pieces where) noexcept {
  msghdr m = message_of(where);
  return until_uninterrupted([&] { return ::recvmsg(socket, &m, MSG_DONTWAIT); });
}

}  // namespace hocket::io
