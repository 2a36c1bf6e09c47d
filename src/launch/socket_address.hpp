// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace hocket::rdzv {

/// Addresses as people write them: "[::1]:29500", "127.0.0.1:29500", "unix:name" for the abstract
/// Unix socket of that name.
[[nodiscard]] std::string bare_host(std::string_view host);  // without brackets
[[nodiscard]] std::string join_host_port(std::string_view host, std::uint16_t port);
[[nodiscard]] std::string name_of_endpoint(
    boost::asio::generic::stream_protocol::endpoint const& e);
[[nodiscard]] std::string name_of_socket(int socket);

[[nodiscard]] boost::asio::generic::stream_protocol::endpoint abstract_endpoint(
    std::string_view name);

[[nodiscard]] bool is_unix(int socket);
/// Whether the process at the other end of a Unix socket is this user's, or root's.
[[nodiscard]] bool is_own_user(int socket);

/// No delay, and probes that find a host that has gone within about a minute. Nothing for others
/// than TCP sockets.
void set_tcp_options(int socket) noexcept;

/// A socket that listens there and that no program started later inherits. Throws the system's
/// code with the address.
[[nodiscard]] int listen_at(boost::asio::generic::stream_protocol::endpoint const& e);

}  // namespace hocket::rdzv
