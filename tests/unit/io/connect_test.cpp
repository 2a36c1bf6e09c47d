// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <sys/resource.h>

#include <hocket/error.hpp>
#include <hocket/log.hpp>
#include <optional>

#include "io/connector.hpp"
#include "io/listener.hpp"
#include "io_support.hpp"

using namespace hocket_test;
using io::address;
using io::connector;
using io::listener;

namespace {

// An address that nobody else uses at the same time.
address fresh_unix() {
  static int count = 0;
  return address::parse("unix:@hocket-test-" + std::to_string(::getpid()) + "-" +
                        std::to_string(++count));
}

struct outcome {
  connector::connected keep() {
    return [this](boost::system::error_code why, unique_fd fd) {
      ++calls;
      code = why;
      socket = std::move(fd);
    };
  }
  int calls = 0;
  boost::system::error_code code;
  unique_fd socket;
};

std::vector<address> places() {
  std::vector<address> all{address::parse("127.0.0.1:0"), fresh_unix()};
  unique_fd const v6(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto const any = address::parse("[::1]:0");
  if (v6 && ::bind(v6.get(), any.data(), any.size()) == 0) all.push_back(any);
  return all;
}

struct descriptor_limit {
  explicit descriptor_limit(rlim_t n) {
    ::getrlimit(RLIMIT_NOFILE, &old);
    rlimit const low{n, old.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &low);
  }
  ~descriptor_limit() { ::setrlimit(RLIMIT_NOFILE, &old); }
  rlimit old{};
};

}  // namespace

TEST_CASE("connections over TCP and Unix sockets carry bytes both ways") {
  each_poller([](auto make) {
    for (auto const& place : places()) {
      CAPTURE(place.to_string());
      auto const p = make();
      std::deque<test_stream> accepted(20), connected(20);
      std::size_t n_accepted = 0, n_connected = 0;
      address peer;
      listener const l(*p, place, [&](unique_fd socket, address const& from) {
        peer = from;
        accepted[n_accepted].queue("from the listener");
        p->add(std::move(socket), accepted[n_accepted++]);
      });
      CHECK((l.where().is_unix() || l.where().port() != 0));
      std::deque<connector> connectors;
      for (int i = 0; i < 20; ++i) {
        connectors.emplace_back(*p, l.where(), [&](boost::system::error_code why, unique_fd fd) {
          REQUIRE(!why);
          connected[n_connected].queue("from the connector");
          p->add(std::move(fd), connected[n_connected++]);
        });
      }
      CHECK(n_connected == 0);  // never from the constructor
      CHECK(drive(*p, [&] {
        return std::ranges::all_of(accepted,
                                   [](auto& s) { return s.in == "from the connector"; }) &&
               std::ranges::all_of(connected, [](auto& s) { return s.in == "from the listener"; });
      }));
      CHECK(peer.is_tcp() == place.is_tcp());
      CHECK(rests(*p));
    }
  });
}

TEST_CASE("where nobody listens, the connector says so, from the poller") {
  each_poller([](auto make) {
    auto const p = make();
    std::optional<listener> l(std::in_place, *p, address::parse("127.0.0.1:0"), nullptr);
    auto const closed = l->where();
    l.reset();
    for (auto const& to : {closed, fresh_unix()}) {
      outcome o;
      connector const c(*p, to, o.keep());
      CHECK(o.calls == 0);
      CHECK(drive(*p, [&] { return o.calls == 1; }));
      CHECK(o.code == boost::system::errc::connection_refused);
      CHECK(!o.socket);
      CHECK(rests(*p));
      CHECK(o.calls == 1);
    }
  });
}

TEST_CASE("a connector may be destroyed by its own call, and a destroyed one does not call") {
  each_poller([](auto make) {
    auto const p = make();
    std::vector<unique_fd> sockets;
    listener const l(*p, address::parse("127.0.0.1:0"),
                     [&](unique_fd s, address const&) { sockets.push_back(std::move(s)); });
    bool called = false;
    std::unique_ptr<connector> c;
    c = std::make_unique<connector>(*p, l.where(), [&](boost::system::error_code, unique_fd) {
      c.reset();
      called = true;
    });
    CHECK(drive(*p, [&] { return called; }));
    outcome o;
    { connector const given_up(*p, l.where(), o.keep()); }
    CHECK(rests(*p));
    CHECK(o.calls == 0);
  });
}

TEST_CASE("a listener that is gone leaves its address to the next one at once") {
  each_poller([](auto make) {
    auto const p = make();
    auto const place = fresh_unix();
    for (int i = 0; i < 20; ++i) {
      listener const l(*p, place, nullptr);
      if (i % 2 == 0) p->poll();
    }
    std::optional<listener> tcp(std::in_place, *p, address::parse("127.0.0.1:0"), nullptr);
    auto const where = tcp->where();
    tcp.reset();
    listener const again(*p, where, nullptr);
    CHECK(again.where() == where);
  });
}

TEST_CASE("an address in use is refused with its text and the system's code") {
  each_poller([](auto make) {
    auto const p = make();
    listener const l(*p, fresh_unix(), nullptr);
    try {
      listener const second(*p, l.where(), nullptr);
      FAIL("two listeners on one address");
    } catch (error const& e) {
      CHECK(e.code() == boost::system::errc::address_in_use);
      CHECK(std::string(e.what()).find(l.where().to_string()) != std::string::npos);
    }
  });
}

TEST_CASE("a Unix socket whose queue is full is tried until there is room") {
  each_poller([](auto make) {
    auto const p = make();
    auto const place = fresh_unix();
    unique_fd const slow(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    REQUIRE(::bind(slow.get(), place.data(), place.size()) == 0);
    REQUIRE(::listen(slow.get(), 0) == 0);
    outcome outcomes[4];
    std::deque<connector> connectors;
    for (auto& o : outcomes) connectors.emplace_back(*p, place, o.keep());
    auto const n_done = [&] { return std::ranges::count(outcomes, 1, &outcome::calls); };
    CHECK(drive(*p, [&] { return n_done() == 1; }));
    std::vector<unique_fd> accepted;
    for (int i = 1; i <= 4; ++i) {
      accepted.emplace_back(::accept4(slow.get(), nullptr, nullptr, SOCK_CLOEXEC));
      CHECK(accepted.back());
      CHECK(drive(*p, [&] { return n_done() == std::min(i + 1, 4); }));
    }
    for (auto const& o : outcomes) CHECK(!o.code);
  });
}

TEST_CASE("without a descriptor left a listener waits without spinning, and then accepts all") {
  set_log_threshold(log_level::off);
  each_poller([](auto make) {
    auto const p = make();
    std::vector<unique_fd> sockets;
    listener const l(*p, address::parse("127.0.0.1:0"),
                     [&](unique_fd s, address const&) { sockets.push_back(std::move(s)); });
    outcome outcomes[5];
    std::deque<connector> connectors;
    for (auto& o : outcomes) connectors.emplace_back(*p, l.where(), o.keep());
    {
      unique_fd const next_free(::dup(0));
      descriptor_limit const none(static_cast<rlim_t>(next_free.get()) + 1);
      int turns = 0;
      auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
      while (std::chrono::steady_clock::now() < end) {
        ++turns;
        if (p->poll()) continue;
        pollfd wake{p->wake_fd(), POLLIN, 0};
        ::poll(&wake, 1, 10);
      }
      CHECK(sockets.empty());
      CHECK(turns < 200);
    }
    CHECK(drive(*p, [&] { return sockets.size() == 5; }));
    for (auto const& o : outcomes) CHECK(!o.code);
  });
  set_log_threshold(log_level::warning);
}

TEST_CASE("sockets of connections are not inherited and do not wait for more to send") {
  auto const p = io::make_poller(io::poller_kind::epoll);
  unique_fd accepted;
  listener const l(*p, address::parse("127.0.0.1:0"),
                   [&](unique_fd s, address const&) { accepted = std::move(s); });
  outcome o;
  connector const c(*p, l.where(), o.keep());
  CHECK(drive(*p, [&] { return o.calls == 1 && accepted; }));
  for (int const fd : {accepted.get(), o.socket.get()}) {
    CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK((::fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    int on = 0;
    socklen_t size = sizeof on;
    ::getsockopt(fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &on, &size);
    CHECK(on == 1);
    ::getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, &size);
    CHECK(on == 1);
  }
}
