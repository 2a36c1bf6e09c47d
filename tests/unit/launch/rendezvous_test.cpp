// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// How ranks meet: whoever hosts the store, and when nobody does.
#include <hocket/launch/deaths.hpp>
#include <hocket/launch/rendezvous.hpp>
#include <mutex>
#include <vector>

#include "store_support.hpp"

using namespace hocket;
using namespace hocket::test;

namespace {

std::uint16_t free_port() {
  int const fd = rdzv::listen_at(loopback());
  auto const port = port_of(fd);
  ::close(fd);
  return port;
}

launch_options place(int rank, int size, std::uint16_t port) {
  return launch_options()
      .rank(rank)
      .size(size)
      .master("127.0.0.1", port)
      .job("j")
      .secret(secret_of(4));
}

}  // namespace

TEST_CASE("rank 0 hosts the store at the master's address and leaves last, 20 times on one port") {
  loop l;
  auto const port = free_port();
  for (int round = 0; round < 20; ++round) {
    auto second = open_store(l.ex(), place(1, 2, port));  // before there is a server
    auto first = open_store(l.ex(), place(0, 2, port));
    auto host = first.get(20s);
    auto guest = second.get(20s);
    first = {};
    second = {};
    CHECK(host.is_host());
    CHECK(!guest.is_host());
    CHECK(!guest.store()->check({"round"}).get(20s));
    auto const left = host.store()->set("round", std::to_string(round));
    left.get(20s);
    auto const over = host.leave();
    CHECK(guest.store()->get("round").get(20s) == std::to_string(round));
    CHECK(!over.ready());
    guest.leave().get(20s);
    over.get(20s);
  }
}

TEST_CASE("a rank that nobody hosts for learns the address and what is wrong there, in time") {
  loop l;
  auto const port = free_port();
  auto const start = std::chrono::steady_clock::now();
  auto const alone = outcome_of(open_store(l.ex(), place(1, 2, port).timeout(200ms)));
  CHECK(alone.code == errc::timed_out);
  says(alone, "127.0.0.1:" + std::to_string(port));
  CHECK(std::chrono::steady_clock::now() - start < 5s);
}

TEST_CASE("a world of one opens no port, and contradictions are refused") {
  loop l;
  CHECK(open_store(l.ex(), launch_options()).get(20s).store() == nullptr);
  auto const wrong = outcome_of(open_store(l.ex(), launch_options().rank(3).size(2)));
  CHECK(wrong.code == errc::invalid_argument);
  says(wrong, "rank 3 in a world of 2");
}

TEST_CASE("rank 0 says which address it cannot serve") {
  loop l;
  auto const foreign =
      outcome_of(open_store(l.ex(), place(0, 2, 29500).master("192.0.2.7", 29500)));
  CHECK(foreign.code == boost::system::errc::address_not_available);
  says(foreign, "192.0.2.7:29500");
  hosted const other(l, guarded());
  auto const taken = outcome_of(open_store(l.ex(), place(0, 2, other.port)));
  CHECK(taken.code == boost::system::errc::address_in_use);
}

TEST_CASE("cancelled while it looks for a host, a rank returns at once and the port is free") {
  loop l;
  auto const port = free_port();
  std::stop_source stop;
  auto const seeking = open_store(l.ex(), place(1, 2, port), op_options().stop(stop.get_token()));
  int const silent = rdzv::listen_at(loopback(port));  // takes the connection, and says nothing
  std::this_thread::sleep_for(50ms);
  stop.request_stop();
  CHECK(outcome_of(seeking).code == operation_aborted());
  ::close(silent);
  ::close(rdzv::listen_at(loopback(port)));

  std::stop_source other;
  other.request_stop();
  auto const hosting = open_store(l.ex(), place(0, 2, port), op_options().stop(other.get_token()));
  CHECK(outcome_of(hosting).code == operation_aborted());
}

TEST_CASE("a rank that is late for an epoch is told so, and does not disturb the next one") {
  loop l;
  auto const port = free_port();
  auto const host = open_store(l.ex(), place(0, 2, port).epoch(1)).get(20s);
  auto const late = outcome_of(open_store(l.ex(), place(1, 2, port)));
  CHECK(late.code == errc::mismatch);
  says(late, "it serves epoch 1, this process comes in epoch 0");
  auto const guest = open_store(l.ex(), place(1, 2, port).epoch(1)).get(20s);
  CHECK(guest.store()->add("n", 1).get(20s) == 1);
}

TEST_CASE("one host meets by the job's name alone") {
  loop l;
  auto const at = [](int rank) {
    return launch_options().rank(rank).size(2).local_rank(rank).local_size(2).job(
        "test " + std::to_string(::getpid()));
  };
  auto const guest = open_store(l.ex(), at(1));
  auto const host = open_store(l.ex(), at(0)).get(20s);
  host.store()->set("k", "v").get(20s);
  CHECK(guest.get(20s).store()->get("k").get(20s) == "v");
}

TEST_CASE("deaths are heard in order, those of before too, and no longer than one listens") {
  loop l;
  hosted const h(l, guarded());
  auto const c = connected(l, h.client().secret(secret_of(1)).job("job"));
  std::mutex mutex;
  std::vector<std::string> heard;
  auto const count = [&] {
    std::lock_guard const lock(mutex);
    return heard.size();
  };
  h.server->set(death_key(0), "3 exited with status 1").get(20s);
  {
    death_watch const watch(c, [&](int rank, std::string_view story) {
      std::lock_guard const lock(mutex);
      heard.push_back(std::to_string(rank) + ": " + std::string(story));
    });
    h.server->set(death_key(2), "0 was ended by signal 9").get(20s);
    h.server->set(death_key(1), "12 exited with status 0").get(20s);
    for (int i = 0; i < 1000 && count() < 3; ++i) std::this_thread::sleep_for(10ms);
  }
  c->set("x", "y").get(20s);
  h.server->set(death_key(3), "1 exited with status 0").get(20s);
  c->add("n", 1).get(20s);
  CHECK(heard == std::vector<std::string>{"3: exited with status 1", "12: exited with status 0",
                                          "0: was ended by signal 9"});
}
