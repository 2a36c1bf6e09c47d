// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <hocket/async/op_options.hpp>
#include <hocket/async/runtime.hpp>
#include <hocket/group/store.hpp>
#include <hocket/launch/secret.hpp>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>

namespace hocket {

/// What a client says to a store, and where that is.
class tcp_store_options {
 public:
  tcp_store_options() = default;
  /// A name, an IPv4 address, or an IPv6 address with or without brackets.
  tcp_store_options& address(std::string host, std::uint16_t port) {
    host_ = std::move(host);
    port_ = port;
    return *this;
  }
  /// An abstract Unix socket of this host instead.
  tcp_store_options& unix_name(std::string name) {
    unix_name_ = std::move(name);
    return *this;
  }
  /// The job's secret, which client and server prove to each other. Default: none.
  tcp_store_options& secret(launch_secret const& s) {
    secret_ = s;
    return *this;
  }
  /// A server of another job refuses.
  tcp_store_options& job(std::string id) {
    job_ = std::move(id);
    return *this;
  }
  /// A server of another epoch refuses.
  tcp_store_options& epoch(std::uint64_t e) {
    epoch_ = e;
    return *this;
  }
  /// Who calls, for the server's messages.
  tcp_store_options& rank(int r) {
    rank_ = r;
    return *this;
  }
  /// The server is PyTorch's (torchrun's agent): no hello; the numbering is found out.
  tcp_store_options& plain(bool yes) {
    plain_ = yes;
    return *this;
  }
  /// The deadline of calls that say none.
  tcp_store_options& timeout(clock::duration d) {
    timeout_ = d;
    return *this;
  }
  /// Whose clock measures the deadlines. Default: the process's.
  tcp_store_options& runtime(runtime_handle h) {
    runtime_ = std::move(h);
    return *this;
  }

  /// @{
  /// What was set, else the default.
  [[nodiscard]] std::string const& host() const noexcept { return host_; }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] std::string const& unix_name() const noexcept { return unix_name_; }
  [[nodiscard]] launch_secret const& secret() const noexcept { return secret_; }
  [[nodiscard]] std::string const& job() const noexcept { return job_; }
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] bool plain() const noexcept { return plain_; }
  [[nodiscard]] clock::duration timeout() const noexcept { return timeout_; }
  [[nodiscard]] std::optional<runtime_handle> const& runtime() const noexcept { return runtime_; }
  /// @}

 private:
  std::string host_ = "127.0.0.1";
  std::uint16_t port_ = 0;
  std::string unix_name_;
  launch_secret secret_;
  std::string job_;
  std::uint64_t epoch_ = 0;
  int rank_ = -1;
  bool plain_ = false;
  clock::duration timeout_ = std::chrono::minutes(5);
  std::optional<runtime_handle> runtime_;
};

/// Connects to the store that a `store_server` or PyTorch's TCPStore serves; done when it answers.
///
/// Until the deadline it tries again, in growing intervals, every address that the name has; a
/// server may start later than its clients. At once it fails with `errc::mismatch` if the server is
/// another job's, of another epoch or without the same secret. Dropping the store ends its calls.
/// Used in a forked child it is `errc::invalid_argument`. The executor's context must outlive the
/// store.
[[nodiscard]] work<std::shared_ptr<store>> connect_store(
    boost::asio::any_io_executor const& ex, tcp_store_options const& options,
    op_options const& call = {}, std::source_location site = std::source_location::current());

}  // namespace hocket
