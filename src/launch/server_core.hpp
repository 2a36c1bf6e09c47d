// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <boost/asio/basic_waitable_timer.hpp>
#include <chrono>
#include <hocket/async/detail/port.hpp>
#include <hocket/async/promise.hpp>
#include <hocket/launch/store_server.hpp>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "launch/store_connection.hpp"

namespace hocket::rdzv {

/// What is behind a `store_server`. All but the posting functions run on its strand.
class server_core final : public std::enable_shared_from_this<server_core> {
 public:
  server_core(boost::asio::any_io_executor const& ex, int listening,
              store_server_options const& options);
  ~server_core();

  // -- from any thread: these post
  void start();
  work<> set(std::string key, std::string value, std::source_location site);
  work<> drained(std::size_t left, op_options const& options, std::source_location site);
  void close() noexcept;
  [[nodiscard]] std::string const& address() const noexcept { return address_; }

  // -- for its connections
  [[nodiscard]] strand const& own_strand() const noexcept { return strand_; }
  [[nodiscard]] store_table& table() noexcept { return table_; }
  [[nodiscard]] admission const& rules() const noexcept { return rules_; }
  [[nodiscard]] store_server_options const& options() const noexcept { return options_; }
  [[nodiscard]] std::array<char, 64 * 1024>& inbox() noexcept { return inbox_; }
  void forget(store_connection& c) noexcept;
  void report(store_session const& s, std::string const& why) noexcept;
  /// Some connection must not stay as it is for ever.
  void watch_time();

 private:
  using timer = boost::asio::basic_waitable_timer<
      std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>, strand>;
  class draining;

  void wait_for_client();
  void accept_all();
  void admit(int socket);
  void pause();
  void check_time();
  void tell_drained();
  void close_here() noexcept;

  boost::asio::any_io_executor const executor_;
  detail::port_ptr const home_;
  strand strand_;
  store_server_options const options_;
  admission const rules_;
  descriptor listening_;
  std::string address_;
  bool is_unix_ = false;
  bool is_closed_ = false;
  bool is_watching_ = false;
  bool warned_ = false;
  timer pause_;
  timer watch_;
  store_table table_;
  std::unordered_map<store_connection const*, std::shared_ptr<store_connection>> connections_;
  std::vector<boost::intrusive_ptr<draining>> draining_;
  std::array<char, 64 * 1024> inbox_{};
};

}  // namespace hocket::rdzv
