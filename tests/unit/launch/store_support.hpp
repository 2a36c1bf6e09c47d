// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <async_support.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <hocket/error.hpp>
#include <hocket/launch/store_server.hpp>
#include <hocket/launch/tcp_store.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "launch/socket_address.hpp"

namespace hocket::test {

using namespace std::chrono_literals;

/// A context with a thread, so that a test can block in `get`.
class loop {
 public:
  ~loop() {
    guard_.reset();
    context_.stop();
    thread_.join();
  }
  [[nodiscard]] boost::asio::io_context::executor_type ex() { return context_.get_executor(); }

 private:
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_{
      context_.get_executor()};
  std::thread thread_{[this] { context_.run(); }};
};

inline boost::asio::generic::stream_protocol::endpoint loopback(std::uint16_t port = 0) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return {&address, sizeof address};
}

inline std::uint16_t port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

inline launch_secret secret_of(int seed) {
  std::array<std::byte, launch_secret::size> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(static_cast<std::size_t>(seed) * 37 + i + 1);
  return launch_secret(bytes);
}

/// A server on a free port of the loopback.
struct hosted {
  explicit hosted(loop& l, store_server_options const& o, std::uint16_t wanted = 0)
      : hosted(l, o, rdzv::listen_at(loopback(wanted)), true) {}
  hosted(loop& l, store_server_options const& o, int socket, bool)
      : port(port_of(socket)), server(std::make_unique<store_server>(l.ex(), socket, o)) {}
  [[nodiscard]] tcp_store_options client() const {
    return tcp_store_options().address("127.0.0.1", port);
  }
  std::uint16_t port;
  std::unique_ptr<store_server> server;
};

inline store_server_options guarded(int seed = 1, std::string job = "job") {
  return store_server_options().secret(secret_of(seed)).job(std::move(job));
}

inline std::shared_ptr<store> connected(loop& l, tcp_store_options const& o) {
  return connect_store(l.ex(), o).get(20s);
}

/// The code and the story of a failed call.
struct outcome {
  boost::system::error_code code;
  std::string story;
};
template <class T>
outcome outcome_of(work<T> const& w) {
  try {
    static_cast<void>(w.get(20s));
  } catch (error const& e) {
    return {e.code(), e.what()};
  }
  return {};
}
inline bool says(outcome const& o, std::string_view part) {
  CAPTURE(o.story);
  CAPTURE(part);
  bool const found = o.story.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

/// A bare TCP connection to a port of the loopback.
class raw_client {
 public:
  explicit raw_client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    auto const to = loopback(port);
    REQUIRE(::connect(fd_, to.data(), static_cast<socklen_t>(to.size())) == 0);
  }
  raw_client(raw_client const&) = delete;
  raw_client& operator=(raw_client const&) = delete;
  ~raw_client() { ::close(fd_); }

  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      auto const put = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (put <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    return true;
  }
  /// Exactly so many bytes; fewer if the peer closes or is silent for some seconds.
  std::string receive(std::size_t bytes) const {
    std::string all;
    while (all.size() < bytes) {
      pollfd ready{fd_, POLLIN, 0};
      if (::poll(&ready, 1, 10'000) <= 0) break;
      char buffer[4096];
      auto const got = ::recv(fd_, buffer, std::min(sizeof buffer, bytes - all.size()), 0);
      if (got <= 0) break;
      all.append(buffer, static_cast<std::size_t>(got));
    }
    return all;
  }
  /// Whether the peer closes within some seconds, whatever it says before.
  bool is_closed() const {
    for (;;) {
      pollfd ready{fd_, POLLIN, 0};
      if (::poll(&ready, 1, 10'000) <= 0) return false;
      char buffer[4096];
      if (::recv(fd_, buffer, sizeof buffer, 0) <= 0) return true;
    }
  }

 private:
  int fd_;
};

}  // namespace hocket::test
