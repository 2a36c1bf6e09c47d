// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "launch/store_connection.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <hocket/error.hpp>

#include "launch/server_core.hpp"

namespace hocket::rdzv {

store_connection::store_connection(server_core& server, int socket)
    : server_(server),
      socket_(server_.own_strand(), socket),
      session_(server_.table(), server_.rules(), *this) {}

void store_connection::start() { turn(); }

void store_connection::drop() noexcept {
  if (std::exchange(is_dropped_, true)) return;
  auto const self = shared_from_this();
  boost::system::error_code ignored;
  socket_.close(ignored);
  server_.forget(*this);
}

void store_connection::drop_for(std::string const& why) noexcept {
  if (is_dropped_) return;
  server_.report(session_, why);
  drop();
}

void store_connection::check_time(clock::time_point now) {
  if (is_dropped_ || session_.is_at_rest()) return;
  auto const& o = server_.options();
  auto const limit = session_.is_greeted() ? o.transfer_limit() : o.hello_limit();
  if (now - busy_since_ < limit) return;
  drop_for(fmt::format("{} is not complete after {} ms",
                       session_.is_greeted() ? "its request" : "its hello", limit.count()));
}

void store_connection::session_resumed() noexcept { turn(); }

// Sends what there is, then waits for what can come next.
void store_connection::turn() noexcept {
  if (is_dropped_) return;
  auto const self = shared_from_this();  // a drop takes the server's
  write_some();
  if (is_dropped_) return;
  if (!session_.fault().empty()) return drop_for(session_.fault());
  bool const rests = session_.is_at_rest();
  if ((was_at_rest_ && !rests) || session_.served() != served_) busy_since_ = clock::now();
  served_ = session_.served();
  was_at_rest_ = rests;
  if (!rests) server_.watch_time();
  try {
    wait_for_socket();
  } catch (std::exception const& e) {
    drop_for(e.what());
  }
}

void store_connection::wait_for_socket() {
  auto const self = shared_from_this();
  auto const server = server_.shared_from_this();
  if (!session_.output().empty() && !is_writing_) {
    is_writing_ = true;
    socket_.async_wait(descriptor::wait_write, [self, server](boost::system::error_code const& e) {
      self->is_writing_ = false;
      if (!e) self->turn();
    });
  }
  if (session_.wants_bytes() && !is_reading_) {
    is_reading_ = true;
    socket_.async_wait(descriptor::wait_read, [self, server](boost::system::error_code const& e) {
      self->is_reading_ = false;
      if (!e) self->read_some();
    });
  }
}

void store_connection::read_some() noexcept {
  if (is_dropped_) return;
  if (!session_.wants_bytes()) return turn();
  auto& room = server_.inbox();
  auto const got = ::recv(socket_.native_handle(), room.data(), room.size(), MSG_DONTWAIT);
  if (got > 0) {
    session_.receive({room.data(), static_cast<std::size_t>(got)});
    server_.table().settle();
  } else if (got == 0) {
    return drop();
  } else if (errno != EAGAIN && errno != EINTR) {
    return drop();
  }
  turn();
}

void store_connection::write_some() noexcept {
  while (!session_.output().empty()) {
    auto const out = session_.output();
    auto const put =
        ::send(socket_.native_handle(), out.data(), out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      if (errno != EAGAIN) drop();
      return;
    }
    session_.sent(static_cast<std::size_t>(put));
    server_.table().settle();
  }
}

}  // namespace hocket::rdzv
