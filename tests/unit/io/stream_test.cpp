// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <thread>

#include "io_support.hpp"

using namespace hocket_test;

TEST_CASE("bytes arrive as they were sent, in both directions at once, whatever their number") {
  each_poller_and_socket([](auto make, auto pair) {
    for (std::size_t const size : {0UL, 1UL, 63UL, 65535UL, 65536UL, 65537UL, 16UL << 20}) {
      CAPTURE(size);
      auto const p = make();
      test_stream a, b;
      auto ends = pair();
      p->add(std::move(ends.ours), a);
      p->add(std::move(ends.theirs), b);
      auto const there = pattern(size), back = pattern(size + 1, 1);
      a.queue(there);
      b.queue(back);
      p->kick(a);
      p->kick(b);
      CHECK(drive(*p, [&] { return b.in.size() >= size && a.in.size() >= size + 1; }));
      CHECK((b.in == there));
      CHECK((a.in == back));
      CHECK(rests(*p));
    }
  });
}

TEST_CASE("bytes pass between pollers that drive one end each") {
  each_poller_and_socket([](auto make, auto pair) {
    auto const p = make(), q = make();
    test_stream a, b;
    auto ends = pair();
    p->add(std::move(ends.ours), a);
    q->add(std::move(ends.theirs), b);
    auto const sent = pattern(3'000'001);
    a.queue(sent);
    p->kick(a);
    CHECK(drive({p.get(), q.get()}, [&] { return b.in.size() >= sent.size(); }));
    CHECK((b.in == sent));
  });
}

TEST_CASE("a thousand small frames queued at once arrive whole and in order") {
  each_poller_and_socket([](auto make, auto pair) {
    auto const p = make();
    test_stream a, b;
    auto ends = pair();
    p->add(std::move(ends.ours), a);
    p->add(std::move(ends.theirs), b);
    std::string expected;
    for (std::size_t i = 0; i < 1000; ++i) {
      auto frame = pattern(1 + i % 97, i);
      expected += frame;
      a.queue(std::move(frame));
      if (i % 3 == 0) p->kick(a);
    }
    p->kick(a);
    CHECK(drive(*p, [&] { return b.in.size() >= expected.size(); }));
    CHECK((b.in == expected));
  });
}

TEST_CASE("a stream that has room for one byte at a time gets them all") {
  each_poller_and_socket([](auto make, auto pair) {
    auto const p = make();
    test_stream a, b;
    b.portion = 1;
    auto ends = pair();
    p->add(std::move(ends.ours), a);
    p->add(std::move(ends.theirs), b);
    auto const sent = pattern(5003);
    a.queue(sent);
    p->kick(a);
    CHECK(drive(*p, [&] { return b.in.size() >= sent.size(); }));
    CHECK((b.in == sent));
  });
}

TEST_CASE("a paused reader holds up its peer, costs nothing, and loses nothing") {
  each_poller_and_socket([](auto make, auto pair) {
    auto const p = make();
    test_stream a, b;
    b.is_paused = true;
    auto ends = pair();
    p->add(std::move(ends.ours), a);
    p->add(std::move(ends.theirs), b);
    auto const sent = pattern(64UL << 20);
    a.queue(sent);
    p->kick(a);
    CHECK(rests(*p));
    CHECK(b.in.empty());
    CHECK(!a.out.empty());
    for (std::size_t const step : {1UL, 100'000UL, sent.size()}) {
      b.is_paused = false;
      b.on_read = [&] { b.is_paused = b.in.size() >= step; };
      p->kick(b);
      CHECK(drive(*p, [&] { return b.in.size() >= step; }));
    }
    CHECK((b.in == sent));
    CHECK(rests(*p));
  });
}

TEST_CASE("streams answer each other from their callbacks") {
  each_poller_and_socket([](auto make, auto pair) {
    auto const p = make();
    test_stream a, b;
    std::size_t const turns = 2000;
    std::size_t exchanged = 0;
    auto const answer = [&](test_stream& s) {
      return [&] {
        if (s.in.size() < 8) return;
        s.in.erase(0, 8);
        if (++exchanged < turns) s.queue(pattern(8, exchanged));
        p->kick(s);
      };
    };
    a.on_read = answer(a);
    b.on_read = answer(b);
    auto ends = pair();
    p->add(std::move(ends.ours), a);
    p->add(std::move(ends.theirs), b);
    a.queue(pattern(8));
    p->kick(a);
    CHECK(drive(*p, [&] { return exchanged >= turns; }));
    CHECK(rests(*p));
  });
}

TEST_CASE("three hundred busy connections share one poller") {
  each_poller([](auto make) {
    auto const p = make();
    std::size_t const n = 300;
    std::deque<test_stream> from(n), to(n);
    for (std::size_t i = 0; i < n; ++i) {
      auto ends = unix_pair();
      p->add(std::move(ends.ours), from[i]);
      p->add(std::move(ends.theirs), to[i]);
      from[i].queue(pattern(10'000 + i, i));
      p->kick(from[i]);
    }
    CHECK(drive(*p, [&] {
      for (std::size_t i = 0; i < n; ++i)
        if (to[i].in.size() < 10'000 + i) return false;
      return true;
    }));
    for (std::size_t i = 0; i < n; ++i) CHECK((to[i].in == pattern(10'000 + i, i)));
  });
}

TEST_CASE("a thread that kicked a stream may end, and its stream goes on") {
  each_poller_and_socket([](auto make, auto pair) {
    auto const p = make();
    test_stream a, b;
    auto ends = pair();
    // What this thread asked the kernel for is cancelled with it.
    std::thread([&] {
      p->add(std::move(ends.ours), a);
      p->add(std::move(ends.theirs), b);
      p->kick(a);
      p->poll();
    }).join();
    CHECK(rests(*p));
    a.queue(pattern(100'000));
    p->kick(a);
    CHECK(drive(*p, [&] { return b.in.size() >= 100'000; }));
    CHECK((b.in == pattern(100'000)));
    CHECK(!a.is_over());
    CHECK(!b.is_over());
  });
}
