// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <boost/asio/error.hpp>
#include <optional>

#include "io_support.hpp"

using namespace hocket_test;
namespace asio_error = boost::asio::error;

namespace {

void send_all(int socket, std::string const& bytes) {
  REQUIRE(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(bytes.size()));
}

}  // namespace

TEST_CASE(
    "a peer that closes after any byte of a frame: the stream has these bytes, then the end") {
  each_poller_and_socket([](auto make, auto pair) {
    auto const frame = pattern(40);
    for (std::size_t sent = 0; sent <= frame.size(); ++sent) {
      auto const p = make();
      test_stream s;
      auto ends = pair();
      p->add(std::move(ends.ours), s);
      if (sent % 2 == 0) p->poll();  // with and without a receive in the kernel
      if (sent > 0) send_all(ends.theirs.get(), frame.substr(0, sent));
      if (sent % 3 == 0) p->poll();
      ends.theirs.reset();
      REQUIRE(drive(*p, [&] { return s.is_over(); }));
      CHECK(s.why == asio_error::eof);
      CHECK(s.in == frame.substr(0, sent));
      if (sent % 16 == 0) CHECK(rests(*p));
    }
  });
}

TEST_CASE("a peer that only stops writing ends the connection, and what it still gets is whole") {
  each_poller_and_socket([](auto make, auto pair) {
    auto const p = make();
    test_stream s;
    auto ends = pair();
    s.queue("before");
    p->add(std::move(ends.ours), s);
    p->kick(s);
    CHECK(drive(*p, [&] { return s.out.empty(); }));
    ::shutdown(ends.theirs.get(), SHUT_WR);
    CHECK(drive(*p, [&] { return s.is_over(); }));
    CHECK(s.why == asio_error::eof);
    char buffer[16];
    CHECK(::read(ends.theirs.get(), buffer, sizeof buffer) == 6);
    CHECK(::read(ends.theirs.get(), buffer, sizeof buffer) == 0);
  });
}

TEST_CASE("a peer that says nothing and reads nothing stalls its stream and nobody else") {
  each_poller_and_socket([](auto make, auto pair) {
    auto const p = make();
    test_stream stalled, a, b;
    auto silent = pair(), ends = pair();
    p->add(std::move(silent.ours), stalled);
    p->add(std::move(ends.ours), a);
    p->add(std::move(ends.theirs), b);
    stalled.queue(pattern(64UL << 20));
    p->kick(stalled);
    CHECK(rests(*p));
    a.queue(pattern(100'000));
    p->kick(a);
    CHECK(drive(*p, [&] { return b.in.size() == 100'000; }));
    CHECK(!stalled.is_over());
    // Its process ends after all.
    silent.theirs.reset();
    CHECK(drive(*p, [&] { return stalled.is_over(); }));
  });
}

TEST_CASE("a connection that is reset while both sides wait ends with the system's code") {
  each_poller([](auto make) {
    auto const p = make();
    test_stream s;
    auto ends = tcp_pair();
    p->add(std::move(ends.ours), s);
    CHECK(rests(*p));
    linger const at_once{1, 0};
    ::setsockopt(ends.theirs.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ends.theirs.reset();
    CHECK(drive(*p, [&] { return s.is_over(); }));
    CHECK(s.why == boost::system::errc::connection_reset);
  });
}

TEST_CASE("where writing fails, the peer's last words are read before the stream ends") {
  each_poller([](auto make) {
    auto const p = make();
    test_stream s;
    s.portion = 5;
    s.is_paused = true;
    auto ends = unix_pair();
    p->add(std::move(ends.ours), s);
    CHECK(rests(*p));
    send_all(ends.theirs.get(), "these are the last words");
    ends.theirs.reset();
    s.is_paused = false;
    s.queue("too late");
    p->kick(s);
    CHECK(drive(*p, [&] { return s.is_over(); }));
    CHECK(s.why == boost::system::errc::broken_pipe);
    CHECK(s.in == "these are the last words");
  });
}

TEST_CASE("what is removed while the kernel holds its buffers is let go of once, and untouched") {
  each_poller_and_socket([bulk = pattern(16UL << 20)](auto make, auto pair) {
    for (int round = 0; round < 12; ++round) {
      auto const p = make();
      auto s = std::make_unique<test_stream>();
      test_stream other;
      auto ends = pair(), others = pair();
      p->add(std::move(ends.ours), *s);
      p->add(std::move(others.ours), other);
      s->queue(bulk);
      p->kick(*s);
      if (round % 2 == 0) CHECK(rests(*p));  // now both a send and a receive are stuck
      if (round % 3 == 0) send_all(ends.theirs.get(), "in the middle");
      int gone = 0;
      p->remove(*s, [&] {
        ++gone;
        s.reset();  // a late byte of the kernel's would be a use after free
      });
      ::send(ends.theirs.get(), "late", 4, MSG_NOSIGNAL);
      CHECK(drive(*p, [&] { return gone == 1; }));
      send_all(others.theirs.get(), "unharmed");
      CHECK(drive(*p, [&] { return other.in == "unharmed"; }));
      CHECK(gone == 1);
    }
  });
}

TEST_CASE("a stream may be removed, and added anew, from any callback") {
  each_poller_and_socket([](auto make, auto pair) {
    auto const p = make();
    test_stream a, b;
    auto first = pair(), second = pair();
    int gone = 0;
    bool again = false;
    // Whoever reads first takes out both, though the other's bytes are there as well.
    auto const take_out = [&] {
      if (std::exchange(again, true)) return;
      p->remove(a, [&] {
        ++gone;
        auto third = pair();
        send_all(third.theirs.get(), "again");
        a.on_read = {};
        a.in.clear();
        p->add(std::move(third.ours), a);
      });
      p->remove(b, [&] { ++gone; });
      p->kick(a);
      p->kick(b);
    };
    a.on_read = b.on_read = take_out;
    p->add(std::move(first.ours), a);
    p->add(std::move(second.ours), b);
    send_all(first.theirs.get(), "x");
    send_all(second.theirs.get(), "y");
    CHECK(drive(*p, [&] { return gone == 2; }));
    CHECK(drive(*p, [&] { return a.is_over(); }));  // the third pair's other end was a local
    CHECK(a.in == "again");
    CHECK(b.in.size() <= 1);
  });
}

TEST_CASE("a stream may be destroyed when it hears of its end, and later calls find nothing") {
  each_poller_and_socket([](auto make, auto pair) {
    auto const p = make();
    auto s = std::make_unique<test_stream>();
    auto* const address = s.get();
    auto ends = pair();
    s->on_end = [&] { s.reset(); };
    p->add(std::move(ends.ours), *s);
    ends.theirs.reset();
    CHECK(drive(*p, [&] { return !s; }));
    p->kick(*address);
    int gone = 0;
    p->remove(*address, [&] { ++gone; });
    CHECK(gone == 1);
  });
}

TEST_CASE("a poller that ends lets go of everything it has") {
  each_poller_and_socket([](auto make, auto pair) {
    auto p = make();
    auto ends = pair(), removed = pair();
    int gone = 0;
    auto s = std::make_unique<test_stream>(), t = std::make_unique<test_stream>();
    p->add(std::move(ends.ours), *s);
    p->add(std::move(removed.ours), *t);
    s->queue(pattern(32UL << 20));
    p->kick(*s);
    p->remove(*t, [&] { ++gone; });
    p.reset();
    CHECK(gone == 1);
    CHECK(!s->is_over());
    s.reset();
    std::vector<char> buffer(1 << 20);
    ssize_t n = 1;
    while (n > 0) n = ::read(ends.theirs.get(), buffer.data(), buffer.size());
    CHECK(n == 0);  // its socket is closed
  });
}
