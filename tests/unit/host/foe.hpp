// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <cstring>
#include <hocket/async/detail/deliver.hpp>
#include <hocket/async/runtime.hpp>
#include <hocket/error.hpp>
#include <hocket/group/detail/world_core.hpp>
#include <hocket/group/process_group.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.hpp"
#include "engine/host/host_engine.hpp"
#include "link_support.hpp"

namespace hocket::host::test {

using namespace std::chrono_literals;

/// Longer than anything here takes.
inline constexpr auto patience = 5s;

inline io::address fresh_address() {
  static std::atomic<int> count{0};
  return io::address::parse("unix:@hocket-foe-" + std::to_string(::getpid()) + "-" +
                            std::to_string(count++));
}

struct heard_frame {
  heard_frame() = default;
  frame_head head;
  std::string extra, payload;
};

/// Rank 1 of three: it knows the job's secret, and says what it likes.
class foe {
 public:
  foe() : at_(fresh_address()), listening_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    REQUIRE(::bind(listening_.get(), at_.data(), at_.size()) == 0);
    REQUIRE(::listen(listening_.get(), 8) == 0);
  }
  /// Its bytes are not read out of its memory.
  [[nodiscard]] peer_place place() const {
    peer_place p;
    p.addresses.push_back(at_);
    p.host = "elsewhere";
    p.process = ::getpid();
    return p;
  }
  [[nodiscard]] static detail::unique_fd call(io::address const& where, int to) {
    detail::unique_fd s(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(s.get(), where.data(), where.size()) == 0);
    auto const me = identity_of(1);
    caller_greeting greeting(me, to);
    write_all(s.get(), greeting.hello());
    std::string out;
    greeting.receive(read_exactly(s.get(), handshake::challenge_bytes), out);
    write_all(s.get(), out);
    greeting.receive(read_exactly(s.get(), 1), out);
    REQUIRE(greeting.is_done());
    return s;
  }
  void connect(io::address const& where, int to) { to_victim_ = call(where, to); }
  /// Lets the victim's connection in, to hear what it says.
  void answer() {
    REQUIRE(is_readable(listening_.get()));
    from_victim_ = detail::unique_fd(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    auto const me = identity_of(1);
    answerer_greeting greeting(me);
    std::string out;
    static_cast<void>(greeting.receive(read_exactly(from_victim_.get(), hello_bytes()), out));
    write_all(from_victim_.get(), std::exchange(out, {}));
    static_cast<void>(
        greeting.receive(read_exactly(from_victim_.get(), handshake::proof_bytes), out));
    write_all(from_victim_.get(), out);
  }
  void say(std::string const& bytes) const { write_all(to_victim_.get(), bytes); }
  [[nodiscard]] heard_frame hear_any() const {
    heard_frame f;
    auto const head = read_exactly(from_victim_.get(), sizeof f.head);
    std::memcpy(&f.head, head.data(), sizeof f.head);
    f.extra = read_exactly(from_victim_.get(), f.head.extra_bytes);
    f.payload = read_exactly(from_victim_.get(), f.head.payload_bytes);
    return f;
  }
  /// The next frame of that kind; others are skipped.
  [[nodiscard]] heard_frame hear(frame_kind kind) const {
    for (;;)
      if (auto f = hear_any(); f.head.kind == kind) return f;
  }
  /// Whether the victim has closed the connection on which it was told things.
  [[nodiscard]] bool is_cut_off() const {
    char c = 0;
    return is_readable(to_victim_.get()) && ::recv(to_victim_.get(), &c, 1, 0) <= 0;
  }

  static void write_all(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
      auto const n = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return;  // cut off before it had said everything
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }

 private:
  static std::size_t hello_bytes() {
    return handshake::hello_bytes_min + identity_of(1).job.size();
  }
  static bool is_readable(int socket) {
    pollfd p{socket, POLLIN, 0};
    return ::poll(&p, 1, 5000) == 1;
  }
  static std::string read_exactly(int socket, std::size_t n) {
    std::string all(n, '\0');
    for (std::size_t got = 0; got < n;) {
      if (!is_readable(socket)) throw std::runtime_error("the victim says nothing");
      auto const r = ::recv(socket, all.data() + got, n - got, 0);
      if (r <= 0) throw std::runtime_error("the victim has closed the connection");
      got += static_cast<std::size_t>(r);
    }
    return all;
  }

  io::address const at_;
  detail::unique_fd listening_, to_victim_, from_victim_;
};

/// An honest rank.
class honest_rank {
 public:
  honest_rank(runtime& rt, boost::asio::any_io_executor const& ex, int rank)
      : runtime_(rt), home_(detail::port_of(ex)), address_(fresh_address()) {
    std::vector<io::address> const at(1, address_);
    engine_ =
        std::make_shared<host_engine>(rt.handle(), identity_of(rank), at, name_of_this_host());
    spec_.name = "world";
    spec_.epoch = identity_of(rank).epoch;
    spec_.members = rank_group::consecutive(world_rank(0), 3);
    spec_.rank = group_rank(rank);
    endpoint_ = engine_->admit(spec_);
  }
  [[nodiscard]] peer_place place() const { return engine_->place(); }
  [[nodiscard]] io::address const& address() const { return address_; }
  void start(std::vector<peer_place> const& where) {
    engine_->start(where);
    spec_.deadline = patience;
    group.emplace(
        detail::group_of(std::move(spec_), std::move(endpoint_), runtime_.handle(), home_));
  }
  void forget_foe() const { engine_->peer_died(1, "the test is over"); }
  std::optional<process_group> group;

 private:
  runtime& runtime_;
  detail::port_ptr const home_;
  io::address const address_;
  std::shared_ptr<host_engine> engine_;
  group_spec spec_;
  std::shared_ptr<endpoint> endpoint_;
};

/// The group of all, as frames name it.
inline std::uint64_t world_id() {
  std::uint64_t h = 0xcbf29ce484222325;
  for (char const c : "world@" + std::to_string(identity_of(0).epoch) + "#0")
    h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return h;
}

/// A head of a frame of that group, from the foe.
inline frame_head from_foe(frame_kind kind) {
  auto h = head_of(kind);
  h.group = world_id();
  h.rank = 1;
  return h;
}

/// The frame, with lengths that are true.
inline std::string say(frame_head h, std::string const& extra = {},
                       std::string const& payload = {}) {
  h.extra_bytes = static_cast<std::uint32_t>(extra.size());
  h.payload_bytes = static_cast<std::uint32_t>(payload.size());
  return bytes_of(h, extra, payload);
}

inline std::string ending_of(work<> const& w) {
  try {
    w.get(patience);
    return "done";
  } catch (std::exception const& e) {
    return e.what();
  }
}

/// Ranks 0, whom the foe attacks, and 2, of whom the foe knows nothing.
class battle {
 public:
  battle() {
    std::vector<peer_place> const where = {victim.place(), enemy.place(), witness.place()};
    victim.start(where);
    witness.start(where);
    enemy.connect(victim.address(), 0);
  }
  ~battle() {
    victim.forget_foe();
    witness.forget_foe();
    if (witness_calls.valid()) CHECK(ending_of(witness_calls) != "done");
  }
  battle(battle const&) = delete;
  battle& operator=(battle const&) = delete;

  /// The victim and its honest peer still reach each other.
  void check_service() {
    for (std::int64_t const n : {std::int64_t{11}, std::int64_t{100'003}}) {
      auto const there = tensor::empty(dtype::u8, shape(n)),
                 back = tensor::empty(dtype::u8, shape(n));
      auto const got = tensor::empty(dtype::u8, shape(n));
      for (std::int64_t i = 0; i < n; ++i) there.bytes()[i] = static_cast<std::byte>(i * 5 + 2);
      auto const sent = victim.group->send(there, group_rank(2));
      auto const received = witness.group->recv(got, group_rank(0));
      CHECK(ending_of(received) == "done");
      CHECK(ending_of(sent) == "done");
      auto const answered = witness.group->send(got, group_rank(0));
      CHECK(ending_of(victim.group->recv(back, group_rank(2))) == "done");
      CHECK(ending_of(answered) == "done");
      CHECK(std::memcmp(back.bytes(), there.bytes(), static_cast<std::size_t>(n)) == 0);
    }
  }

 private:
  boost::asio::io_context context_;
  runtime runtime_;

 public:
  foe enemy;
  honest_rank victim{runtime_, context_.get_executor(), 0};
  honest_rank witness{runtime_, context_.get_executor(), 2};
  work<> witness_calls;  // cannot end well without the foe
};

}  // namespace hocket::host::test
