// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// epoll or io_uring? Two threads, each with a poller of its own, exchange messages over one or many
// connections: one message there on each, then one back. Yardstick: epoll. A thread sleeps when its
// poller has nothing to do, as a runtime's does, or asks again and again.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../support/rounds.hpp"
#include "io/epoll_poller.hpp"
#include "io/socket.hpp"
#include "io/uring_poller.hpp"

using namespace hocket;
using io::unique_fd;

namespace {

// Sends one message at a time and receives one at a time.
class messages final : public io::byte_stream {
 public:
  messages(std::size_t out_bytes, std::size_t in_bytes) : out_(out_bytes), in_(in_bytes) {}

  void send() {
    sent_ = 0;
    sending_ = true;
  }
  bool has_received() const { return received_ == in_.size(); }
  void receive_next() { received_ = 0; }
  bool is_over() const { return over_; }

  std::span<iovec const> to_write() noexcept override {
    if (!sending_) return {};
    piece_out_ = {out_.data() + sent_, out_.size() - sent_};
    return {&piece_out_, 1};
  }
  void written(std::size_t n) noexcept override { sending_ = (sent_ += n) < out_.size(); }
  std::span<iovec const> to_read() noexcept override {
    // While a message is complete the next one cannot come: the other side waits.
    auto const at = has_received() ? 0 : received_;
    piece_in_ = {in_.data() + at, in_.size() - at};
    return {&piece_in_, 1};
  }
  void read(std::size_t n) noexcept override { received_ = (has_received() ? 0 : received_) + n; }
  void ended(boost::system::error_code) noexcept override { over_ = true; }

 private:
  std::vector<char> out_, in_;
  iovec piece_out_{}, piece_in_{};
  std::size_t sent_ = 0, received_ = 0;
  bool sending_ = false, over_ = false;
};

struct pair_of_sockets {
  unique_fd a, b;
};

pair_of_sockets connect_pair(bool tcp) {
  int ends[2] = {-1, -1};
  if (!tcp) {
    ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends);
  } else {
    auto where = io::address::parse("127.0.0.1:0");
    unique_fd const listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ::bind(listening.get(), where.data(), where.size());
    ::listen(listening.get(), 1);
    where = io::address::local_of(listening.get());
    ends[0] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ::connect(ends[0], where.data(), where.size());
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    ends[1] = ::accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  }
  for (int const fd : ends) io::tune_connection(fd);
  return {unique_fd(ends[0]), unique_fd(ends[1])};
}

std::unique_ptr<io::poller> make(bool uring) {
  if (uring) return std::make_unique<io::uring_poller>();
  return std::make_unique<io::epoll_poller>();
}

struct setting {
  bool uring, tcp, sleeps;
  std::size_t connections;
  std::size_t there, back;  // bytes
};

// One side of all connections: a poller and its ends.
class side {
 public:
  side(setting const& s, std::size_t out_bytes, std::size_t in_bytes)
      : sleeps_(s.sleeps), poller_(make(s.uring)) {
    for (std::size_t i = 0; i < s.connections; ++i) ends_.emplace_back(out_bytes, in_bytes);
  }
  void add(std::size_t i, unique_fd socket) { poller_->add(std::move(socket), ends_[i]); }
  void remove_all() {
    for (auto& end : ends_) poller_->remove(end, nullptr);
    while (poller_->poll()) {
    }
  }
  void send_all() {
    for (auto& end : ends_) {
      end.receive_next();
      end.send();
      poller_->kick(end);
    }
  }
  // Until every end has a message; false if one has lost its peer.
  bool receive_all() {
    for (auto& end : ends_) {
      while (!end.has_received()) {
        if (end.is_over()) return false;
        if (poller_->poll() || !sleeps_ || end.has_received() || end.is_over()) continue;
        pollfd wake{poller_->wake_fd(), POLLIN, 0};
        ::ppoll(&wake, 1, nullptr, nullptr);
      }
    }
    return true;
  }

 private:
  bool const sleeps_;
  std::unique_ptr<io::poller> poller_;
  std::deque<messages> ends_;
};

// Connections whose other ends answer all messages from a thread of their own.
class exchange {
 public:
  explicit exchange(setting const& s) : ours_(s, s.there, s.back), theirs_(s, s.back, s.there) {
    for (std::size_t i = 0; i < s.connections; ++i) {
      auto sockets = connect_pair(s.tcp);
      ours_.add(i, std::move(sockets.a));
      theirs_.add(i, std::move(sockets.b));
    }
    answering_ = std::jthread([this] {
      while (theirs_.receive_all()) {
        theirs_.send_all();
      }
    });
  }
  ~exchange() { ours_.remove_all(); }  // the other side sees it and ends

  void run(int repeats) {
    for (int i = 0; i < repeats; ++i) {
      ours_.send_all();
      ours_.receive_all();
    }
  }

 private:
  side ours_, theirs_;
  std::jthread answering_;
};

void compare(char const* question, bool sleeps, std::size_t connections, std::size_t there,
             std::size_t back, int repeats) {
  bench::competitors all;
  for (bool const tcp : {true, false}) {
    for (bool const uring : {false, true}) {
      auto const name = std::string(uring ? "io_uring" : "epoll") + (tcp ? ", TCP" : ", Unix");
      setting const s{uring, tcp, sleeps, connections, there, back};
      all.add(name, repeats, [s, repeats] { exchange(s).run(repeats); });
    }
  }
  all.print(question, 9);
}

}  // namespace

int main() {
  if (auto const support = io::probe_uring(); !support.usable) {
    std::printf("nothing to compare: io_uring: %s\n", support.reason.c_str());
    return 0;
  }
  constexpr std::size_t large = std::size_t{16} << 20;
  compare("8 B there and back, sleeping", true, 1, 8, 8, 2000);
  compare("64 KiB there and back, sleeping", true, 1, 65536, 65536, 500);
  compare("16 MiB there, 8 B back, sleeping", true, 1, large, 8, 8);
  compare("64 x 8 B there and back, sleeping", true, 64, 8, 8, 100);
  compare("64 x 64 KiB there, 8 B back, sleeping", true, 64, 65536, 8, 20);
  compare("8 B there and back, asking again and again", false, 1, 8, 8, 2000);
}
