// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "io/socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>

namespace hocket::io {
namespace {

void set(int socket, int level, int option, int value) noexcept {
  ::setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace

unique_fd open_socket(address const& a) noexcept {
  return unique_fd(::socket(a.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

void tune_connection(int socket) noexcept {
  constexpr int buffer_bytes = 4 << 20;  // the kernel clamps it to net.core.wmem_max
  int family = 0;
  socklen_t size = sizeof family;
  ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &size);
  if (family == AF_UNIX) {
    set(socket, SOL_SOCKET, SO_SNDBUF, buffer_bytes);
    return;
  }
  // TCP sizes its buffers by itself, and beyond net.core.*mem_max.
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace hocket::io
