// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Who is let in, and what those can do who are not.
#include <sys/wait.h>

#include <atomic>
#include <hocket/log.hpp>
#include <mutex>
#include <vector>

#include "group/handshake.hpp"
#include "launch/store_protocol.hpp"
#include "store_support.hpp"

using namespace hocket;
using namespace hocket::test;

namespace {

// What the library reports meanwhile.
class heard_lines {
 public:
  heard_lines() {
    set_log_sink([this](log_level, std::string_view line) {
      std::lock_guard const lock(mutex_);
      text_ += line;
      text_ += '\n';
    });
  }
  heard_lines(heard_lines const&) = delete;
  heard_lines& operator=(heard_lines const&) = delete;
  ~heard_lines() { set_log_sink({}); }
  std::string text() {
    std::lock_guard const lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

std::string hello_of(std::string job = "job", std::uint32_t to = handshake::nobody) {
  handshake::hello h;
  h.job = std::move(job);
  h.from = 1;
  h.to = to;
  h.random = handshake::make_nonce();
  return handshake::encode(h);
}

std::string proof_for(std::string const& hello, std::string const& challenge, int seed = 1) {
  auto const c = handshake::decode_challenge(challenge);
  auto const p =
      handshake::prove(handshake::side::caller, secret_of(seed).bytes(), hello, c.random);
  return std::string(handshake::view(p));
}

}  // namespace

TEST_CASE("another secret, job or epoch is refused at once, and says what differs") {
  loop l;
  heard_lines const quiet;
  hosted const h(l, guarded().epoch(3));
  auto const options = h.client().secret(secret_of(1)).job("job").epoch(3);
  connected(l, options);

  auto const secret =
      outcome_of(connect_store(l.ex(), tcp_store_options(options).secret(secret_of(2))));
  CHECK(secret.code == errc::mismatch);
  says(secret, "does not hold the secret");
  auto const none =
      outcome_of(connect_store(l.ex(), tcp_store_options(options).secret(launch_secret())));
  CHECK(none.code == errc::mismatch);
  says(none, "HOCKET_SECRET_FD");
  auto const job = outcome_of(connect_store(l.ex(), tcp_store_options(options).job("other")));
  CHECK(job.code == errc::mismatch);
  says(job, "another job than \"other\"");
  auto const epoch = outcome_of(connect_store(l.ex(), tcp_store_options(options).epoch(2)));
  CHECK(epoch.code == errc::mismatch);
  says(epoch, "serves epoch 3, this process comes in epoch 2");
  auto const plain = outcome_of(connect_store(l.ex(), tcp_store_options(options).plain(true)));
  CHECK(plain.code == errc::mismatch);
  says(plain, "wants this job's secret");
}

TEST_CASE("a hello and proof of the past do not open the store again") {
  loop l;
  heard_lines lines;
  hosted const h(l, guarded());
  auto const hello = hello_of();
  std::string proof;
  {
    raw_client const first(h.port);
    first.send(hello);
    auto const challenge = first.receive(handshake::challenge_bytes);
    proof = proof_for(hello, challenge);
    first.send(proof);
    CHECK(first.receive(1) == std::string(1, '\0'));
  }
  raw_client const again(h.port);
  again.send(hello);
  CHECK(again.receive(handshake::challenge_bytes).size() == handshake::challenge_bytes);
  again.send(proof);
  CHECK(again.is_closed());
  CHECK(lines.text().find("rank 1 does not have the secret") != std::string::npos);

  // The server's own proof is none of a caller.
  raw_client const mirror(h.port);
  mirror.send(hello);
  auto const challenge = mirror.receive(handshake::challenge_bytes);
  mirror.send(challenge.substr(challenge.size() - handshake::proof_bytes));
  CHECK(mirror.is_closed());
}

TEST_CASE("a server that cannot prove the secret learns nothing and is left") {
  loop l;
  heard_lines const quiet;
  hosted const impostor(l, guarded(9));
  auto const refused =
      outcome_of(connect_store(l.ex(), impostor.client().secret(secret_of(1)).job("job")));
  CHECK(refused.code == errc::mismatch);
  impostor.server->drained().get(20s);
}

TEST_CASE("a server that takes the connection and says nothing is named with the phase, in time") {
  loop l;
  int const silent = rdzv::listen_at(loopback());
  auto const options = tcp_store_options().address("127.0.0.1", port_of(silent));
  for (bool const plain : {false, true}) {
    auto const missed = outcome_of(connect_store(l.ex(), tcp_store_options(options).plain(plain),
                                                 op_options().deadline(100ms)));
    CHECK(missed.code == errc::timed_out);
    says(missed, "waiting for the hello's answer of 127.0.0.1:");
  }
  ::close(silent);
}

TEST_CASE("plain clients are refused with a line that says so, unless the store is open") {
  loop l;
  heard_lines lines;
  hosted const closed(l, guarded());
  std::string set;
  rdzv::encode({rdzv::verb::set, {"/k"}, {"v"}, 0}, rdzv::numbering::from_zero, set);
  raw_client const old(closed.port);
  old.send(set);
  CHECK(old.is_closed());
  CHECK(lines.text().find("plain TCPStore clients are not admitted") != std::string::npos);

  hosted const open(l, guarded().open(true));
  auto const ours = connected(l, open.client().secret(secret_of(1)).job("job"));
  auto const theirs = connected(l, open.client().plain(true));
  auto const asked = theirs->get("k");
  ours->set("k", "v").get(20s);
  CHECK(asked.get(20s) == "v");
  CHECK(theirs->add("n", -3).get(20s) == -3);
  CHECK(theirs->erase("n").get(20s));
}

TEST_CASE("an old client speaks with the numbers of its time") {
  loop l;
  hosted const h(l, store_server_options().open(true));
  raw_client const old(h.port);
  using rdzv::verb;
  std::string out, in;
  auto const say = [&](rdzv::request const& r) {
    rdzv::encode(r, rdzv::numbering::from_zero, out);
  };
  say({verb::set, {"/a"}, {"1"}, 0});
  say({verb::get, {"/a"}, {}, 0});
  rdzv::put_text(in, "1");
  say({verb::add, {"/a"}, {}, 41});
  rdzv::put_number(in, 42);
  say({verb::check, {"/a", "/b"}, {}, 0});
  rdzv::put_byte(in, 1);
  say({verb::wait, {"/a"}, {}, 0});
  rdzv::put_byte(in, 0);
  say({verb::count_keys, {}, {}, 0});
  rdzv::put_number(in, 1);
  say({verb::erase, {"/a"}, {}, 0});
  rdzv::put_number(in, 1);
  say({verb::compare_set, {"/c"}, {"", "x"}, 0});
  rdzv::put_text(in, "x");
  old.send(out);
  CHECK(old.receive(in.size()) == in);
}

TEST_CASE("garbage at each byte of a good start ends one connection, and the others go on") {
  loop l;
  heard_lines const quiet;
  hosted const h(l, guarded());
  auto const good = connected(l, h.client().secret(secret_of(1)).job("job"));
  auto const hello = hello_of();
  for (std::size_t at = 0; at < hello.size(); at += at < 12 ? 1 : 9) {
    raw_client const bad(h.port);
    bad.send(hello.substr(0, at));
    bad.send(std::string(200, '\x77'));
    CHECK(bad.is_closed());
  }
  raw_client const bad(h.port);
  bad.send(hello);
  auto const proof = proof_for(hello, bad.receive(handshake::challenge_bytes));
  bad.send(proof + std::string(1, '\x02') + std::string(8, '\xff'));  // a key of 2^64 - 1 bytes
  CHECK(bad.is_closed());
  CHECK(good->add("n", 1).get(20s) == 1);
}

TEST_CASE("who is silent or slow in a hello, or stops in a request, is dropped in time") {
  loop l;
  heard_lines lines;
  hosted const h(l, guarded().hello_limit(150ms).transfer_limit(300ms));
  auto const good = connected(l, h.client().secret(secret_of(1)).job("job"));
  raw_client const silent(h.port);
  raw_client const slow(h.port);
  auto const hello = hello_of();
  slow.send(hello.substr(0, 20));
  raw_client const half(h.port);
  half.send(hello);
  half.send(proof_for(hello, half.receive(handshake::challenge_bytes)));
  CHECK(half.receive(1).size() == 1);
  half.send(std::string("\x01\x04", 2));
  CHECK(silent.is_closed());
  CHECK(slow.is_closed());
  CHECK(half.is_closed());
  CHECK(lines.text().find("its hello is not complete after 150 ms") != std::string::npos);
  CHECK(good->add("n", 1).get(20s) == 1);  // it has rested meanwhile, and may
}

TEST_CASE("a store that is full, or has too many clients, says no to the one that comes") {
  loop l;
  heard_lines const quiet;
  hosted const h(l, guarded().connections_max(8).bytes_max(1000));
  auto const options = h.client().secret(secret_of(1)).job("job");
  auto const one = connected(l, options);
  auto const other = connected(l, options);
  CHECK(outcome_of(one->set("k", std::string(2000, 'x'))).code == errc::store_lost);
  CHECK(other->add("n", 1).get(20s) == 1);
  std::vector<std::unique_ptr<raw_client>> crowd;
  for (int i = 0; i < 12; ++i) crowd.push_back(std::make_unique<raw_client>(h.port));
  CHECK(crowd.back()->is_closed());
  CHECK(other->add("n", 1).get(20s) == 2);
}

TEST_CASE("IPv6, names and abstract sockets lead to the store") {
  loop l;
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  int six = -1;
  try {
    six = rdzv::listen_at({&address, sizeof address});
  } catch (error const& e) {
    MESSAGE("no IPv6 here: " << e.what());
  }
  if (six >= 0) {
    hosted const h(l, guarded(), six, true);
    CHECK(h.server->address() == "[::1]:" + std::to_string(h.port));
    auto const options = tcp_store_options().secret(secret_of(1)).job("job");
    for (auto const* host : {"::1", "[::1]"})
      CHECK(connected(l, tcp_store_options(options).address(host, h.port))->add("n", 1).get(20s) >
            0);
  }
  hosted const four(l, guarded());
  auto const options = tcp_store_options().secret(secret_of(1)).job("job");
  CHECK(connected(l, tcp_store_options(options).address("localhost", four.port))
            ->add("n", 1)
            .get(20s) == 1);
  auto const nowhere = outcome_of(
      connect_store(l.ex(), tcp_store_options(options).address("no-such-host.invalid", 1),
                    op_options().deadline(300ms)));
  CHECK(nowhere.code == errc::timed_out);
  says(nowhere, "no-such-host.invalid");

  auto const name = "hocket test " + std::to_string(::getpid());
  hosted const h(l, guarded(), rdzv::listen_at(rdzv::abstract_endpoint(name)), true);
  CHECK(h.server->address() == "unix:" + name);
  CHECK(connected(l, tcp_store_options(options).unix_name(name))->add("n", 1).get(20s) == 1);
}

TEST_CASE("a forked child cannot use or break its parent's store") {
  loop l;
  hosted const h(l, guarded());
  auto c = connected(l, h.client().secret(secret_of(1)).job("job"));
  auto const pid = ::fork();
  if (pid == 0) {
    bool const refused = c->add("n", 1).state()->failed();
    c.reset();
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  CHECK(status == 0);
  CHECK(c->add("n", 1).get(20s) == 1);
}
