// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "io/address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <hocket/error.hpp>

namespace hocket::io {
namespace {

constexpr std::size_t name_at = offsetof(sockaddr_un, sun_path) + 1;  // after the leading NUL
constexpr std::size_t name_size_max = sizeof(sockaddr_un) - name_at;

[[noreturn]] void refuse(std::string_view text, std::string const& why) {
  throw error(errc::invalid_argument,
              fmt::format("'{}' is no address: {}; one looks like 127.0.0.1:80, [::1]:80, "
                          "[fe80::1%eth0]:80 or unix:@name",
                          text, why));
}

template <class T>
T view_as(sockaddr_storage const& storage) noexcept {
  T a;
  std::memcpy(&a, &storage, sizeof a);
  return a;
}

template <class T>
sockaddr_storage stored(T const& a) noexcept {
  sockaddr_storage storage{};
  std::memcpy(&storage, &a, sizeof a);
  return storage;
}

std::uint16_t parse_port(std::string_view text, std::string_view port) {
  std::uint16_t value = 0;
  auto const [end, failure] = std::from_chars(port.data(), port.data() + port.size(), value);
  if (failure != std::errc() || end != port.data() + port.size())
    refuse(text, fmt::format("its port is '{}', not a number from 0 to 65535", port));
  return htons(value);
}

std::uint32_t parse_scope(std::string_view text, std::string const& scope) {
  std::uint32_t value = 0;
  auto const [end, failure] = std::from_chars(scope.data(), scope.data() + scope.size(), value);
  if (failure == std::errc() && end == scope.data() + scope.size()) return value;
  value = ::if_nametoindex(scope.c_str());
  if (value == 0) refuse(text, fmt::format("this host has no interface '{}'", scope));
  return value;
}

sockaddr_storage parse_unix(std::string_view text, std::string_view name) {
  if (name.empty() || name.front() != '@')
    refuse(text, "only the abstract name space is used, whose names begin with @");
  name.remove_prefix(1);
  if (name.empty() || name.size() > name_size_max)
    refuse(text, fmt::format("its name has {} bytes, not 1 to {}", name.size(), name_size_max));
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), a.sun_path + 1);
  return stored(a);
}

sockaddr_storage parse_v6(std::string_view text) {
  auto const close = text.find("]:");
  if (close == text.npos) refuse(text, "no ']:' and port after the IPv6 address");
  std::string host(text.substr(1, close - 1));
  sockaddr_in6 a{};
  a.sin6_family = AF_INET6;
  a.sin6_port = parse_port(text, text.substr(close + 2));
  if (auto const percent = host.find('%'); percent != host.npos) {
    a.sin6_scope_id = parse_scope(text, host.substr(percent + 1));
    host.resize(percent);
  }
  if (::inet_pton(AF_INET6, host.c_str(), &a.sin6_addr) != 1)
    refuse(text, fmt::format("'{}' is no IPv6 address", host));
  return stored(a);
}

sockaddr_storage parse_v4(std::string_view text) {
  auto const colon = text.find(':');
  if (colon == text.npos) refuse(text, "no port");
  std::string const host(text.substr(0, colon));
  sockaddr_in a{};
  a.sin_family = AF_INET;
  if (::inet_pton(AF_INET, host.c_str(), &a.sin_addr) != 1)
    refuse(text, fmt::format("'{}' is no IPv4 address, and names are not resolved here", host));
  a.sin_port = parse_port(text, text.substr(colon + 1));
  return stored(a);
}

std::string print_v6(sockaddr_in6 const& a) {
  char host[INET6_ADDRSTRLEN] = "?";
  ::inet_ntop(AF_INET6, &a.sin6_addr, host, sizeof host);
  if (a.sin6_scope_id == 0) return fmt::format("[{}]:{}", host, ntohs(a.sin6_port));
  char name[IF_NAMESIZE];
  auto const scope = ::if_indextoname(a.sin6_scope_id, name) != nullptr
                         ? std::string(name)
                         : std::to_string(a.sin6_scope_id);
  return fmt::format("[{}%{}]:{}", host, scope, ntohs(a.sin6_port));
}

address of_socket(int socket, int (*call)(int, sockaddr*, socklen_t*)) noexcept {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (call(socket, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  return address::from(storage, length);
}

}  // namespace

address address::parse(std::string_view text) {
  constexpr std::string_view unix_prefix = "unix:";
  address a;
  if (text.find('\0') != text.npos) refuse(text, "it contains a NUL");
  if (text.starts_with(unix_prefix)) {
    auto const name = text.substr(unix_prefix.size());
    a.storage_ = parse_unix(text, name);
    a.length_ = static_cast<socklen_t>(name_at + name.size() - 1);
  } else if (text.starts_with('[')) {
    a.storage_ = parse_v6(text);
    a.length_ = sizeof(sockaddr_in6);
  } else {
    a.storage_ = parse_v4(text);
    a.length_ = sizeof(sockaddr_in);
  }
  return a;
}

address address::from(sockaddr_storage const& storage, socklen_t length) noexcept {
  address a;
  bool const known =
      (storage.ss_family == AF_INET && length == sizeof(sockaddr_in)) ||
      (storage.ss_family == AF_INET6 && length == sizeof(sockaddr_in6)) ||
      (storage.ss_family == AF_UNIX && length > name_at && length <= sizeof(sockaddr_un) &&
       view_as<sockaddr_un>(storage).sun_path[0] == '\0');
  if (!known) return a;
  std::memcpy(&a.storage_, &storage, length);
  a.length_ = length;
  return a;
}

address address::local_of(int socket) noexcept { return of_socket(socket, &::getsockname); }
address address::peer_of(int socket) noexcept { return of_socket(socket, &::getpeername); }

std::uint16_t address::port() const noexcept {
  if (family() == AF_INET) return ntohs(view_as<sockaddr_in>(storage_).sin_port);
  if (family() == AF_INET6) return ntohs(view_as<sockaddr_in6>(storage_).sin6_port);
  return 0;
}

address address::with_port(std::uint16_t port) const noexcept {
  address a = *this;
  if (family() == AF_INET) {
    auto v4 = view_as<sockaddr_in>(storage_);
    v4.sin_port = htons(port);
    a.storage_ = stored(v4);
  } else if (family() == AF_INET6) {
    auto v6 = view_as<sockaddr_in6>(storage_);
    v6.sin6_port = htons(port);
    a.storage_ = stored(v6);
  }
  return a;
}

std::string address::to_string() const {
  if (family() == AF_INET) {
    auto const a = view_as<sockaddr_in>(storage_);
    char host[INET_ADDRSTRLEN] = "?";
    ::inet_ntop(AF_INET, &a.sin_addr, host, sizeof host);
    return fmt::format("{}:{}", host, ntohs(a.sin_port));
  }
  if (family() == AF_INET6) return print_v6(view_as<sockaddr_in6>(storage_));
  if (!is_unix()) return "(none)";
  auto const a = view_as<sockaddr_un>(storage_);
  return "unix:@" + std::string(a.sun_path + 1, length_ - name_at);
}

sockaddr const* address::data() const noexcept {
  return reinterpret_cast<sockaddr const*>(&storage_);
}

bool operator==(address const& a, address const& b) noexcept {
  return a.length_ == b.length_ && std::memcmp(&a.storage_, &b.storage_, a.length_) == 0;
}

}  // namespace hocket::io
