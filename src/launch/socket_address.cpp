// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "launch/socket_address.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <hocket/error.hpp>

namespace hocket::rdzv {
namespace {

using endpoint = boost::asio::generic::stream_protocol::endpoint;

template <class Address>
Address as(endpoint const& e) {
  Address address{};
  std::memcpy(&address, e.data(), std::min(e.size(), sizeof address));
  return address;
}

void set(int socket, int level, int name, int value) noexcept {
  ::setsockopt(socket, level, name, &value, sizeof value);
}

[[noreturn]] void fail(int code, std::string const& story) {
  boost::system::error_code const wrapped(code, boost::system::system_category());
  throw error(wrapped, fmt::format("{}: {}", story, wrapped.message()));
}

}  // namespace

std::string bare_host(std::string_view host) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  return std::string(host);
}

std::string join_host_port(std::string_view host, std::uint16_t port) {
  bool const is_v6 = host.find(':') != std::string_view::npos;
  return is_v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string name_of_endpoint(endpoint const& e) {
  auto const family = e.data()->sa_family;
  if (family == AF_UNIX) {
    auto const address = as<sockaddr_un>(e);
    auto const begin = offsetof(sockaddr_un, sun_path);
    if (e.size() <= begin) return "unix:";
    bool const is_abstract = address.sun_path[0] == '\0';
    return fmt::format("unix:{}", std::string_view(address.sun_path + (is_abstract ? 1 : 0),
                                                   e.size() - begin - (is_abstract ? 1 : 0)));
  }
  char host[NI_MAXHOST] = "";
  if (::getnameinfo(e.data(), static_cast<socklen_t>(e.size()), host, sizeof host, nullptr, 0,
                    NI_NUMERICHOST) != 0)
    return fmt::format("an address of family {}", family);
  auto const port =
      family == AF_INET6 ? as<sockaddr_in6>(e).sin6_port : as<sockaddr_in>(e).sin_port;
  return join_host_port(host, ntohs(port));
}

std::string name_of_socket(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    fail(errno, fmt::format("descriptor {} is no socket", socket));
  return name_of_endpoint(endpoint(&address, size));
}

endpoint abstract_endpoint(std::string_view name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() >= sizeof address.sun_path)
    throw error(errc::invalid_argument,
                fmt::format("the name of a Unix socket has {} bytes, not 1 to {}", name.size(),
                            sizeof address.sun_path - 1));
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // the zero before it: abstract
  return {&address, offsetof(sockaddr_un, sun_path) + 1 + name.size()};
}

bool is_unix(int socket) {
  int domain = 0;
  socklen_t size = sizeof domain;
  return ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

bool is_own_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == ::geteuid() || peer.uid == 0);
}

void set_tcp_options(int socket) noexcept {
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

int listen_at(endpoint const& e) {
  auto const name = name_of_endpoint(e);
  int const family = e.data()->sa_family;
  int const fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) fail(errno, "no socket for " + name);
  if (family != AF_UNIX) set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (::bind(fd, e.data(), static_cast<socklen_t>(e.size())) != 0 || ::listen(fd, 4096) != 0) {
    int const why = errno;
    ::close(fd);
    fail(why, "cannot listen at " + name);
  }
  return fd;
}

}  // namespace hocket::rdzv
