// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/epoll_poller.hpp"
#include "io/socket.hpp"
#include "io/uring_poller.hpp"

/// What the tests of the sockets share.
namespace hocket_test {

using namespace hocket;
using io::unique_fd;

/// Runs `f(make)` with a maker of each kind of poller: epoll, io_uring, and io_uring with rings so
/// small that they are always full.
template <class F>
void each_poller(F&& f) {
  struct {
    char const* name;
    std::unique_ptr<io::poller> (*make)();
  } const kinds[] = {
      {"epoll",
       []() -> std::unique_ptr<io::poller> { return std::make_unique<io::epoll_poller>(); }},
      {"io_uring",
       []() -> std::unique_ptr<io::poller> { return std::make_unique<io::uring_poller>(); }},
      {"io_uring, full",
       []() -> std::unique_ptr<io::poller> { return std::make_unique<io::uring_poller>(1); }}};
  auto const support = io::probe_uring();
  for (auto const& kind : kinds) {
    if (kind.name[0] == 'i' && !support.usable) {
      MESSAGE(support.reason);
      continue;
    }
    CAPTURE(kind.name);
    f(kind.make);
  }
}

struct socket_pair {
  unique_fd ours, theirs;  // do not block
};

inline socket_pair unix_pair() {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  return {unique_fd(ends[0]), unique_fd(ends[1])};
}

inline socket_pair tcp_pair() {
  unique_fd const listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto where = io::address::parse("127.0.0.1:0");
  REQUIRE(::bind(listening.get(), where.data(), where.size()) == 0);
  REQUIRE(::listen(listening.get(), 1) == 0);
  where = io::address::local_of(listening.get());
  unique_fd ours(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(ours.get(), where.data(), where.size()) == 0);
  ::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  unique_fd theirs(::accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  io::tune_connection(ours.get());
  io::tune_connection(theirs.get());
  return {std::move(ours), std::move(theirs)};
}

/// Runs `f(make, pair)` with each kind of poller and of socket.
template <class F>
void each_poller_and_socket(F&& f) {
  each_poller([&](auto make) {
    for (auto const pair : {&unix_pair, &tcp_pair}) {
      CAPTURE((pair == &tcp_pair ? "tcp" : "unix"));
      f(make, pair);
    }
  });
}

/// Bytes that tell where they belong.
inline std::string pattern(std::size_t size, std::size_t seed = 0) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<char>((i * 7 + i / 251 + i / 65521 + seed * 13) & 255);
  return bytes;
}

/// Drives pollers the way a runtime does until the condition holds; false if that takes so long
/// that a wake-up must have been lost.
template <class Condition>
bool drive(std::vector<io::poller*> const& pollers, Condition const& condition) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    bool more = false;
    std::vector<pollfd> waited;
    for (auto* const p : pollers) {
      more |= p->poll();
      waited.push_back({p->wake_fd(), POLLIN, 0});
    }
    if (!more && !condition()) ::poll(waited.data(), waited.size(), 30000);
  }
  return true;
}
template <class Condition>
bool drive(io::poller& p, Condition const& condition) {
  return drive(std::vector<io::poller*>{&p}, condition);
}

/// True if the poller comes to rest: nothing to do and nothing to be woken for.
inline bool rests(io::poller& p) {
  for (int i = 0; i < 1000; ++i) {
    if (p.poll()) continue;
    pollfd wake{p.wake_fd(), POLLIN, 0};
    if (::poll(&wake, 1, 20) == 0) return true;
  }
  return false;
}

/// Sends what is queued, keeps what comes.
class test_stream : public io::byte_stream {
 public:
  void queue(std::string frame) { out.push_back(std::move(frame)); }

  std::span<iovec const> to_write() noexcept override {
    pieces_out_.clear();
    std::size_t skipped = sent_;
    for (auto& frame : out) {
      if (pieces_out_.size() == pieces_at_once) break;
      pieces_out_.push_back({frame.data() + skipped, frame.size() - skipped});
      skipped = 0;
    }
    return pieces_out_;
  }
  void written(std::size_t bytes) noexcept override {
    CHECK(!is_over());
    for (sent_ += bytes; !out.empty() && sent_ >= out.front().size();) {
      sent_ -= out.front().size();
      out.pop_front();
    }
  }
  std::span<iovec const> to_read() noexcept override {
    if (is_paused) return {};
    if (room_.empty()) room_.resize(portion);
    // In three pieces, one of them empty.
    std::size_t const half = room_.size() / 2;
    pieces_in_ = {{room_.data(), half}, {nullptr, 0}, {room_.data() + half, room_.size() - half}};
    if (room_.size() == 1) pieces_in_ = {{room_.data(), 1}};
    return pieces_in_;
  }
  void read(std::size_t bytes) noexcept override {
    CHECK(!is_over());
    CHECK(bytes > 0);
    REQUIRE(bytes <= room_.size());
    in.append(room_.data(), bytes);
    room_.assign(portion, '\0');
    if (on_read) on_read();
  }
  void ended(boost::system::error_code code) noexcept override {
    CHECK(!is_over());
    why = code;
    if (on_end) on_end();
  }
  bool is_over() const { return static_cast<bool>(why); }

  std::size_t portion = 64 * 1024;
  std::size_t pieces_at_once = 64;
  bool is_paused = false;
  std::deque<std::string> out;
  std::string in;
  boost::system::error_code why;
  std::function<void()> on_read, on_end;

 private:
  std::size_t sent_ = 0;
  std::vector<iovec> pieces_out_, pieces_in_;
  std::vector<char> room_;
};

/// Runs `body` in a process of its own and returns what it returns; filters and limits that it sets
/// end with it.
template <class Body>
std::string in_child(Body const& body) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  unique_fd const from(ends[0]);
  unique_fd to(ends[1]);
  pid_t const child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::string const text = body();
    bool const whole =
        ::write(to.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
    ::_exit(whole ? 0 : 1);
  }
  to.reset();
  std::string text;
  char buffer[512];
  for (ssize_t n = 0; (n = ::read(from.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  return text;
}

}  // namespace hocket_test
