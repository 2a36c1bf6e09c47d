// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "io/connector.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <hocket/error.hpp>

#include "io/socket.hpp"
#include "io/transfer.hpp"

namespace hocket::io {
namespace {

constexpr auto retry_time = std::chrono::milliseconds(2);

}  // namespace

connector::connector(poller& p, address const& to, connected on_end)
    : poller_(p), to_(to), on_end_(std::move(on_end)), socket_(open_socket(to)) {
  if (!socket_) {
    auto const code = system_code(errno);
    throw error(code,
                fmt::format("cannot connect to {}: socket: {}", to.to_string(), code.message()));
  }
  attempt();
}

connector::~connector() {
  if (watches_) poller_.unwatch(*this);
}

void connector::attempt() {
  error_ = ::connect(socket_.get(), to_.data(), to_.size()) == 0 ? 0 : errno;
  if (error_ == EAGAIN && to_.is_unix()) {
    // The peer's queue is full, and a Unix socket does not go on by itself.
    if (!retry_) retry_.emplace(poller_, [this] { attempt_again(); });
    return retry_->start(retry_time);
  }
  // Interrupted, it goes on like one in progress. A socket that is connected or has failed is
  // ready as well.
  if (error_ == EINPROGRESS || error_ == EINTR) error_ = 0;
  poller_.watch(socket_.get(), readiness::writable, *this);
  watches_ = true;
}

void connector::attempt_again() noexcept {
  try {
    attempt();
  } catch (error const& e) {
    finish(e.code());
  }
}

void connector::ready() noexcept {
  socklen_t size = sizeof error_;
  if (error_ == 0 && ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error_, &size) != 0)
    error_ = errno;
  poller_.unwatch(*this);
  watches_ = false;
  finish(error_ == 0 ? boost::system::error_code() : system_code(error_));
}

void connector::finish(boost::system::error_code code) noexcept {
  unique_fd socket = std::move(socket_);
  if (code) {
    socket.reset();
  } else {
    tune_connection(socket.get());
  }
  auto const on_end = std::move(on_end_);
  on_end(code, std::move(socket));
}

}  // namespace hocket::io
