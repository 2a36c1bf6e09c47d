// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <memory>

#include "launch/store_session.hpp"

namespace hocket::rdzv {

using strand = boost::asio::strand<boost::asio::any_io_executor>;
using descriptor = boost::asio::posix::basic_stream_descriptor<strand>;

class server_core;

/// A client's connection: its session, and the socket that it reads and writes. On the server's
/// strand only. The server owns it; pending waits for the socket keep both alive.
class store_connection final : public std::enable_shared_from_this<store_connection>,
                               private store_session::owner {
 public:
  using clock = std::chrono::steady_clock;

  store_connection(server_core& server, int socket);

  void start();
  /// Idempotent; the server forgets it.
  void drop() noexcept;
  /// Drops it if it has taken too long.
  void check_time(clock::time_point now);
  [[nodiscard]] bool is_greeted() const noexcept { return session_.is_greeted(); }
  [[nodiscard]] bool is_at_rest() const noexcept { return session_.is_at_rest(); }

 private:
  void session_resumed() noexcept override;
  void turn() noexcept;
  void read_some() noexcept;
  void write_some() noexcept;
  void wait_for_socket();
  void drop_for(std::string const& why) noexcept;

  server_core& server_;
  descriptor socket_;
  store_session session_;
  clock::time_point busy_since_ = clock::now();
  bool was_at_rest_ = false;
  std::uint64_t served_ = 0;
  bool is_reading_ = false;  // a wait for the socket is pending
  bool is_writing_ = false;
  bool is_dropped_ = false;
};

}  // namespace hocket::rdzv
