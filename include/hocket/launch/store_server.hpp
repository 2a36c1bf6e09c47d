// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <hocket/async/op_options.hpp>
#include <hocket/async/work.hpp>
#include <hocket/launch/secret.hpp>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>

namespace hocket {

namespace rdzv {
class server_core;
}

/// Whom a store serves, and how much it bears.
class store_server_options {
 public:
  store_server_options() = default;
  /// Clients must hold it, too. Default: none, and the server logs that once.
  store_server_options& secret(launch_secret const& s) {
    secret_ = s;
    return *this;
  }
  /// Clients of another job are refused.
  store_server_options& job(std::string id) {
    job_ = std::move(id);
    return *this;
  }
  /// Clients of another epoch are refused. Default: any may come.
  store_server_options& epoch(std::uint64_t e) {
    epoch_ = e;
    return *this;
  }
  /// Plain TCPStore clients, which prove nothing, are served, too. Default: refused.
  store_server_options& open(bool yes) {
    open_ = yes;
    return *this;
  }
  /// A client that has not proved in this time that it belongs here is dropped.
  store_server_options& hello_limit(std::chrono::milliseconds d) {
    hello_limit_ = d;
    return *this;
  }
  /// So is one that needs longer than this for one request or for taking its answer.
  store_server_options& transfer_limit(std::chrono::milliseconds d) {
    transfer_limit_ = d;
    return *this;
  }
  /// Further connections are closed at once; a quarter of them may be in their hello.
  store_server_options& connections_max(std::size_t n) {
    connections_max_ = n;
    return *this;
  }
  /// Of all keys and values together.
  store_server_options& bytes_max(std::size_t n) {
    bytes_max_ = n;
    return *this;
  }

  /// @{
  /// What was set, else the default.
  [[nodiscard]] launch_secret const& secret() const noexcept { return secret_; }
  [[nodiscard]] std::string const& job() const noexcept { return job_; }
  [[nodiscard]] std::optional<std::uint64_t> const& epoch() const noexcept { return epoch_; }
  [[nodiscard]] bool open() const noexcept { return open_; }
  [[nodiscard]] std::chrono::milliseconds hello_limit() const noexcept { return hello_limit_; }
  [[nodiscard]] std::chrono::milliseconds transfer_limit() const noexcept {
    return transfer_limit_;
  }
  [[nodiscard]] std::size_t connections_max() const noexcept { return connections_max_; }
  [[nodiscard]] std::size_t bytes_max() const noexcept { return bytes_max_; }
  /// @}

 private:
  launch_secret secret_;
  std::string job_;
  std::optional<std::uint64_t> epoch_;
  bool open_ = false;
  std::chrono::milliseconds hello_limit_{10'000};
  std::chrono::milliseconds transfer_limit_{60'000};
  std::size_t connections_max_ = 32 * 1024;
  std::size_t bytes_max_ = std::size_t{1} << 30;
};

/// Keeps the store of a job and serves it on a socket: to Hocket's own clients, which prove by an
/// HMAC that they hold the job's secret and see the same of the server, and on request to PyTorch's
/// TCPStore in both its numberings (but for its queues and watched keys). Nothing is encrypted: who
/// can read the network reads the store. What a client does wrong ends its own connection only.
///
/// Lives on an executor whose context outlives it, and is outstanding work there until `close`.
/// Any thread may call.
class store_server {
 public:
  /// Serves from now on. `listening` is a socket (TCP or Unix) in the state of listening, and is
  /// owned from now on. Through a Unix socket only processes of this user are served.
  store_server(boost::asio::any_io_executor const& ex, int listening,
               store_server_options const& options);
  ~store_server();
  store_server(store_server const&) = delete;
  store_server& operator=(store_server const&) = delete;

  /// "127.0.0.1:29500"
  [[nodiscard]] std::string const& address() const noexcept;

  /// As a client would: done when those who wait for the key have been answered.
  work<> set(std::string key, std::string value,
             std::source_location site = std::source_location::current());

  /// Done when at most `left` clients are connected: whoever hosts the store leaves last. Without
  /// a deadline of its own it waits for as long as it takes.
  [[nodiscard]] work<> drained(std::size_t left = 0, op_options const& options = {},
                               std::source_location site = std::source_location::current());

  /// Drops all clients; the port is free when the executor has run what this posts. Idempotent.
  void close() noexcept;

 private:
  std::shared_ptr<rdzv::server_core> core_;
};

}  // namespace hocket
