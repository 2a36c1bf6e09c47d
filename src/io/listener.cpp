// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "io/listener.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <hocket/error.hpp>
#include <hocket/log.hpp>

#include "io/socket.hpp"
#include "io/transfer.hpp"

namespace hocket::io {
namespace {

constexpr int accepts_a_turn = 64;
constexpr auto pause_time = std::chrono::milliseconds(50);

[[noreturn]] void refuse(char const* call, address const& where) {
  auto const code = system_code(errno);
  throw error(code,
              fmt::format("cannot listen on {}: {}: {}", where.to_string(), call, code.message()));
}

unique_fd open_listening(address const& where) {
  unique_fd socket = open_socket(where);
  if (!socket) refuse("socket", where);
  if (where.is_tcp()) {
    int const on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  }
  if (::bind(socket.get(), where.data(), where.size()) != 0) refuse("bind", where);
  if (::listen(socket.get(), SOMAXCONN) != 0) refuse("listen", where);
  return socket;
}

bool is_shortage(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

listener::listener(poller& p, address const& where, accepted on_accept)
    : poller_(p),
      socket_(open_listening(where)),
      where_(address::local_of(socket_.get())),
      on_accept_(std::move(on_accept)),
      pause_(p, [this] { resume(); }) {
  poller_.watch(socket_.get(), readiness::readable, *this);
  watches_ = true;
}

listener::~listener() {
  if (watches_) poller_.unwatch(*this);
}

void listener::ready() noexcept {
  for (int i = 0; i < accepts_a_turn; ++i) {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    unique_fd socket(::accept4(socket_.get(), reinterpret_cast<sockaddr*>(&storage), &length,
                               SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
      has_complained_ = false;
      tune_connection(socket.get());
      on_accept_(std::move(socket), address::from(storage, length));
    } else if (is_shortage(errno)) {
      return pause(errno);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return;
    }  // any other is the failure of the one connection that was to be accepted
  }
}

void listener::pause(int error) noexcept {
  if (!std::exchange(has_complained_, true))
    log(log_level::warning,
        fmt::format("listening on {}: accept: {}; trying again every {} ms", where_.to_string(),
                    system_code(error).message(), pause_time.count()));
  poller_.unwatch(*this);
  watches_ = false;
  pause_.start(pause_time);
}

void listener::resume() noexcept {
  try {
    poller_.watch(socket_.get(), readiness::readable, *this);
    watches_ = true;
  } catch (error const&) {
    pause_.start(pause_time);
  }
}

}  // namespace hocket::io
