// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// The store over real sockets of the loopback: what it keeps, for whom, and for how long.
#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <vector>

#include "store_support.hpp"

using namespace hocket;
using namespace hocket::test;

namespace {

tcp_store_options client_of(hosted const& h, int rank = 0, int seed = 1, std::string job = "job") {
  return h.client().secret(secret_of(seed)).job(std::move(job)).rank(rank);
}

tcp_store_options client_to(std::uint16_t port, int rank) {
  return tcp_store_options().address("127.0.0.1", port).secret(secret_of(1)).job("job").rank(rank);
}

// A rank as users write one.
boost::asio::awaitable<void> meet_all(boost::asio::any_io_executor ex, tcp_store_options options,
                                      int rank, int size) {
  auto s = co_await connect_store(ex, options);
  co_await s->set("n/" + std::to_string(rank), std::to_string(3 * rank));
  for (int i = 0; i < 3; ++i) {
    auto const other = (rank * 7 + i) % size;
    auto const value = co_await s->get("n/" + std::to_string(other));
    CHECK(value == std::to_string(3 * other));
  }
  auto const came = co_await s->add("came", 1);
  CHECK(came >= 1);
}

}  // namespace

TEST_CASE("what one client sets, the others get, also those that ask before it is there") {
  loop l;
  hosted const h(l, guarded());
  std::vector<std::shared_ptr<store>> clients;
  for (int rank = 0; rank < 5; ++rank) clients.push_back(connected(l, client_of(h, rank)));
  std::vector<work<std::string>> gets;
  for (auto const& c : clients)
    for (int of = 0; of < 5; ++of) gets.push_back(c->get("address/" + std::to_string(of)));
  auto const all = clients[3]->wait({"address/0", "address/4"});
  CHECK(!all.ready());
  for (std::size_t rank = 0; rank < 5; ++rank)
    clients[rank]
        ->set("address/" + std::to_string(rank), "value of " + std::to_string(rank * 7))
        .get(20s);
  for (std::size_t i = 0; i < gets.size(); ++i)
    CHECK(gets[i].get(20s) == "value of " + std::to_string(i % 5 * 7));
  all.get(20s);
  CHECK(clients[1]->check({"address/1", "address/2"}).get(20s));
  CHECK(!clients[1]->check({"address/1", "address/5"}).get(20s));
  CHECK(clients[0]->address() == h.server->address());
}

TEST_CASE("add counts over all clients, compare_set lets one win, erase takes away") {
  loop l;
  hosted const h(l, guarded());
  auto const a = connected(l, client_of(h, 0));
  auto const b = connected(l, client_of(h, 1));
  std::vector<work<std::int64_t>> sums;
  for (int i = 0; i < 300; ++i) sums.push_back((i % 2 == 0 ? a : b)->add("n", i % 7));
  std::int64_t greatest = 0;
  for (auto const& w : sums) greatest = std::max(greatest, w.get(20s));
  std::int64_t expected = 0;
  for (int i = 0; i < 300; ++i) expected += i % 7;
  CHECK(greatest == expected);
  CHECK(a->get("n").get(20s) == std::to_string(expected));

  CHECK(a->compare_set("leader", "", "a").get(20s) == "a");
  CHECK(b->compare_set("leader", "", "b").get(20s) == "a");
  CHECK(b->compare_set("leader", "a", "b").get(20s) == "b");
  CHECK(a->compare_set("nobody", "somebody", "a").get(20s) == "somebody");
  CHECK(!a->check({"nobody"}).get(20s));

  CHECK(b->erase("leader").get(20s));
  CHECK(!b->erase("leader").get(20s));
}

TEST_CASE("stores with prefixes do not see each other's keys") {
  loop l;
  hosted const h(l, guarded());
  auto const whole = connected(l, client_of(h));
  auto const one = make_prefixed_store(whole, "1/");
  auto const two = make_prefixed_store(whole, "2/");
  one->set("k", "v").get(20s);
  CHECK(one->check({"k"}).get(20s));
  CHECK(!two->check({"k"}).get(20s));
  CHECK(two->add("n", 2).get(20s) == 2);
  CHECK(two->compare_set("k", "", "w").get(20s) == "w");
  one->wait({"k"}).get(20s);
  CHECK(whole->get("1/k").get(20s) + whole->get("2/k").get(20s) == "vw");
  CHECK(two->erase("k").get(20s));
  CHECK(one->get("k").get(20s) == "v");
  CHECK(two->address() == whole->address());
}

TEST_CASE("100 ranks of one process meet in coroutines") {
  boost::asio::io_context context;
  int const socket = rdzv::listen_at(loopback());
  auto const port = port_of(socket);
  auto server = std::make_unique<store_server>(context.get_executor(), socket, guarded());
  int done = 0;
  for (int rank = 0; rank < 100; ++rank)
    boost::asio::co_spawn(context,
                          meet_all(context.get_executor(), client_to(port, rank), rank, 100),
                          [&](std::exception_ptr e) {
                            hocket_test::rethrow(e);
                            if (++done == 100) server->close();
                          });
  context.run();
  CHECK(done == 100);
}

TEST_CASE("a context that dies takes its calls with it, and nothing is left") {
  work<std::shared_ptr<store>> never;
  work<std::string> pending;
  {
    boost::asio::io_context context;
    int const socket = rdzv::listen_at(loopback());
    auto const port = port_of(socket);
    store_server const server(context.get_executor(), socket, guarded());
    auto const connecting = connect_store(context.get_executor(), client_to(port, 0));
    while (!connecting.ready()) context.run_one_for(1s);
    auto const s = connecting.get(0s);
    pending = s->get("never");
    never = connect_store(context.get_executor(), client_to(1, 0));
    context.run_for(20ms);
  }
  CHECK(outcome_of(never).code == errc::group_closed);
  CHECK(outcome_of(pending).code == errc::group_closed);
}

TEST_CASE("a value of 8 MiB and an empty one come back; what is larger is refused here") {
  loop l;
  hosted const h(l, guarded());
  auto const c = connected(l, client_of(h));
  std::string large(8 << 20, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 31 >> 3);
  auto const set = c->set("large", large);
  auto const empty = c->set("", "");
  set.get(20s);
  empty.get(20s);
  CHECK(c->get("large").get(20s) == large);
  CHECK(c->get("").get(20s).empty());
  auto const too_large = outcome_of(c->set("k", large + 'x'));
  CHECK(too_large.code == errc::invalid_argument);
  says(too_large, "8388609");
  CHECK(outcome_of(c->get(std::string(8192, 'k'))).code == errc::invalid_argument);
  CHECK(outcome_of(c->wait(std::vector<std::string>(128 * 1024 + 1))).code ==
        errc::invalid_argument);
}

TEST_CASE("a missed deadline names key and address, and the store goes on") {
  loop l;
  hosted const h(l, guarded());
  auto const c = connected(l, client_of(h));
  auto const start = std::chrono::steady_clock::now();
  auto const missed = outcome_of(c->get("rank/1", op_options().deadline(100ms)));
  auto const took = std::chrono::steady_clock::now() - start;
  CHECK(missed.code == errc::timed_out);
  says(missed, "\"rank/1\"");
  says(missed, h.server->address());
  CHECK(took >= 100ms);
  CHECK(took < 5s);
  CHECK(outcome_of(c->get("rank/1", op_options().deadline(0ms))).code == errc::timed_out);
  CHECK(outcome_of(c->wait({"rank/1", "rank/2"}, op_options().deadline(20ms))).code ==
        errc::timed_out);
  auto const asked = c->get("rank/1");
  c->set("rank/1", "here").get(20s);
  CHECK(asked.get(20s) == "here");
}

TEST_CASE("a cancelled wait is given back, and its connection with it") {
  loop l;
  hosted const h(l, guarded());
  auto const c = connected(l, client_of(h));
  std::vector<work<std::string>> waits;
  for (int i = 0; i < 20; ++i) waits.push_back(c->get("never " + std::to_string(i)));
  c->check({}).get(20s);
  for (auto const& w : waits) w.get_canceller().cancel();
  for (auto const& w : waits) CHECK(outcome_of(w).code == operation_aborted());
  h.server->drained(2).get(20s);
  CHECK(c->add("n", 5).get(20s) == 5);
}

TEST_CASE("a client may be there before the server") {
  loop l;
  int const reserved = rdzv::listen_at(loopback());
  auto const port = port_of(reserved);
  ::close(reserved);
  auto const options = tcp_store_options().address("127.0.0.1", port).secret(secret_of(1)).job("j");
  auto const early = connect_store(l.ex(), options);
  auto const hopeless = outcome_of(connect_store(l.ex(), options, op_options().deadline(150ms)));
  CHECK(hopeless.code == errc::timed_out);
  says(hopeless, "127.0.0.1:" + std::to_string(port));
  says(hopeless, "refused");
  CHECK(!early.ready());
  hosted const h(l, guarded(1, "j"), port);
  CHECK(early.get(20s)->add("n", 1).get(20s) == 1);
}

TEST_CASE("when the server goes, every call says that the store is lost") {
  loop l;
  auto h = std::make_unique<hosted>(l, guarded());
  auto const c = connected(l, client_of(*h));
  auto const pending = c->get("never");
  auto const other = c->wait({"never", "ever"});
  c->set("k", "v").get(20s);
  h->server->close();
  auto const lost = outcome_of(pending);
  CHECK(lost.code == errc::store_lost);
  says(lost, "127.0.0.1:");
  CHECK(outcome_of(other).code == errc::store_lost);
  CHECK(outcome_of(c->add("n", 1)).code == errc::store_lost);
}

TEST_CASE("dropping the store ends its calls") {
  loop l;
  hosted const h(l, guarded());
  auto c = connected(l, client_of(h));
  auto const pending = c->get("never");
  c.reset();
  CHECK(outcome_of(pending).code == errc::group_closed);
  h.server->drained().get(20s);
}

TEST_CASE("a port serves one store after another, 20 times") {
  loop l;
  std::uint16_t port = 0;
  for (int round = 0; round < 20; ++round) {
    hosted h(l, guarded(1 + round % 3).epoch(static_cast<std::uint64_t>(round)), port);
    port = h.port;
    auto const options = client_of(h, 0, 1 + round % 3).epoch(static_cast<std::uint64_t>(round));
    auto a = connected(l, options);
    auto b = connected(l, options);
    CHECK(!a->check({"round"}).get(20s));
    b->set("round", std::to_string(round)).get(20s);
    CHECK(a->get("round").get(20s) == std::to_string(round));
    a.reset();
    b.reset();
    h.server->drained().get(20s);
    h.server->close();
    h.server->drained().get(20s);
  }
}

TEST_CASE("8 servers at once keep their jobs apart") {
  loop l;
  std::vector<std::unique_ptr<hosted>> servers;
  std::vector<std::shared_ptr<store>> clients;
  for (int i = 0; i < 8; ++i) {
    servers.push_back(std::make_unique<hosted>(l, guarded(i, "job " + std::to_string(i))));
    for (int rank = 0; rank < 2; ++rank)
      clients.push_back(
          connected(l, client_of(*servers.back(), rank, i, "job " + std::to_string(i))));
  }
  for (std::size_t i = 0; i < 8; ++i) clients[2 * i]->set("who", std::to_string(i)).get(20s);
  for (std::size_t i = 0; i < 8; ++i)
    CHECK(clients[2 * i + 1]->get("who").get(20s) == std::to_string(i));
}
