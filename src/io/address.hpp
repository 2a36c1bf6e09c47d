// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace hocket::io {

/// Where a socket is: TCP over IPv4 or IPv6, or a Unix socket of the abstract name space. A value;
/// names of hosts are not resolved here.
class address {
 public:
  /// No address; prints as "(none)".
  address() = default;
  /// "127.0.0.1:80", "[::1]:80", "[fe80::1%eth0]:80" or "unix:@name". Throws hocket::error with
  /// errc::invalid_argument and what is wrong.
  [[nodiscard]] static address parse(std::string_view text);
  /// As the kernel hands it out; one of another family is no address.
  [[nodiscard]] static address from(sockaddr_storage const& a, socklen_t length) noexcept;
  /// The two ends of a socket; no address if it has none.
  [[nodiscard]] static address local_of(int socket) noexcept;
  [[nodiscard]] static address peer_of(int socket) noexcept;

  [[nodiscard]] int family() const noexcept { return storage_.ss_family; }
  [[nodiscard]] bool is_tcp() const noexcept { return family() == AF_INET || family() == AF_INET6; }
  [[nodiscard]] bool is_unix() const noexcept { return family() == AF_UNIX; }
  /// 0 for a Unix socket.
  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] address with_port(std::uint16_t port) const noexcept;
  /// What `parse` reads.
  [[nodiscard]] std::string to_string() const;

  [[nodiscard]] sockaddr const* data() const noexcept;
  [[nodiscard]] socklen_t size() const noexcept { return length_; }

  friend bool operator==(address const& a, address const& b) noexcept;

 private:
  sockaddr_storage storage_{};
  socklen_t length_ = 0;
};

}  // namespace hocket::io
