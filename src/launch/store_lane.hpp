// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/basic_resolver.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/store_call.hpp"
#include "launch/store_connection.hpp"
#include "launch/store_protocol.hpp"

namespace hocket::rdzv {

/// How a server wants to be spoken to.
enum class dialect : std::uint8_t { hocket, current, from_zero };

/// One connection of a client to the server: dials when it has calls, asks, delivers. On the
/// client's strand only.
class store_lane : public std::enable_shared_from_this<store_lane> {
 public:
  explicit store_lane(store_client& client);

  void add(call_ptr call);
  /// Somebody has ended a wait: takes the call back, and stops if no other one is wanted.
  void ended(store_call& call);
  /// Ends all calls and the connection.
  void close(errc code, std::string const& why) noexcept;
  [[nodiscard]] bool is_idle() const noexcept { return !is_running_; }
  [[nodiscard]] bool has(store_call const& call) const noexcept;

 private:
  using clock = std::chrono::steady_clock;
  using stream = boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol, strand>;
  using timer = boost::asio::basic_waitable_timer<clock, boost::asio::wait_traits<clock>, strand>;
  using resolver = boost::asio::ip::basic_resolver<boost::asio::ip::tcp, strand>;
  using endpoint = boost::asio::generic::stream_protocol::endpoint;
  using endpoints = std::vector<endpoint>;
  using error_code = boost::system::error_code;
  template <class T>
  using awaitable = boost::asio::awaitable<T, strand>;

  void start();
  [[nodiscard]] bool is_wanted() const noexcept;
  void stop() noexcept;
  void disconnect() noexcept;
  void begin_attempt(std::size_t addresses);
  bool note_failure(endpoint const& at, std::string_view doing);
  [[nodiscard]] bool open_socket(endpoint const& at);
  void collect(std::string& to);

  awaitable<void> run();
  awaitable<bool> dial();
  awaitable<bool> try_all();
  awaitable<endpoints> resolve();
  awaitable<bool> try_endpoint(endpoint at);
  awaitable<bool> connect(endpoint at);
  awaitable<bool> greet_hocket(endpoint at);
  awaitable<bool> greet_current(endpoint at);
  awaitable<bool> greet_from_zero(endpoint at);
  awaitable<bool> send(std::string_view bytes);
  awaitable<bool> receive(std::string& to, std::size_t bytes);
  awaitable<bool> exchange();
  awaitable<bool> answer(reply_form form);

  store_client& client_;
  stream socket_;
  resolver resolver_;
  timer pause_;
  timer attempt_;
  std::deque<call_ptr> queue_;
  std::deque<call_ptr> asked_;
  bool is_running_ = false;
  bool is_connected_ = false;
  bool was_stopped_ = false;  // the socket was closed here, as nobody wanted an answer
  std::uint64_t attempts_ = 0;
  std::chrono::milliseconds attempt_limit_{0};
  error_code failure_;
  std::array<char, 16 * 1024> inbox_{};
  std::string_view unread_;
  reply_decoder replies_;
};

}  // namespace hocket::rdzv
