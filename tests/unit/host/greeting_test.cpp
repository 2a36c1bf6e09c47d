// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Who is not let in, and what both sides are told.
#include <doctest/doctest.h>

#include <refusal.hpp>
#include <string>

#include "link_support.hpp"

using namespace hocket;
using namespace hocket::host;
using namespace hocket::host::test;
using hocket::test::refusal;

namespace {

bool tells(std::string const& story, std::string const& text) {
  return story.find(text) != std::string::npos;
}

// What the caller throws at the challenge of that answerer.
std::string refused_by(identity const& answerer, identity const& caller, int callee = 0) {
  recorder sink;
  in_link link(sink, answerer);
  caller_greeting greeting(caller, callee);
  feed(link, greeting.hello());
  CHECK(sink.greeted_by == -1);
  return refusal(
      [&] {
        std::string out;
        greeting.receive(said_by(link), out);
        return 0;
      },
      errc::mismatch);
}

}  // namespace

TEST_CASE("a greeting may come in pieces of any size") {
  for (std::size_t piece = 1; piece < 80; piece += piece < 8 ? 1 : 13) {
    greeted_link g(piece);
    CHECK(g.is_right);
    CHECK(g.sink.greeted_by == 1);
    CHECK(g.link.peer() == 1);
    CHECK(g.sink.endings.empty());
  }
}

TEST_CASE("a caller of another job, epoch or for another rank is told so before it is cut off") {
  auto const me = identity_of(0);
  CHECK(tells(refused_by(me, identity_of(1, 3, "other")), "another job"));
  auto late = identity_of(1);
  late.epoch = 8;
  CHECK(tells(refused_by(me, late), "epoch 7 of the job, this rank in 8"));
  CHECK(tells(refused_by(me, identity_of(1), 2), "is another rank"));
  CHECK(tells(refused_by(me, identity_of(0)), "is another rank"));     // itself
  CHECK(tells(refused_by(me, identity_of(5, 6)), "is another rank"));  // out of range
}

TEST_CASE("a link that has refused a caller ends when the verdict is written, and reads no more") {
  recorder sink;
  auto const me = identity_of(0);
  in_link link(sink, me);
  auto const other = identity_of(1, 3, "other");
  caller_greeting greeting(other, 0);
  feed(link, greeting.hello());
  CHECK(sink.endings.empty());
  CHECK_FALSE(feed(link, "more"));
  CHECK(said_by(link, 5).size() == handshake::challenge_bytes);
  REQUIRE(sink.endings.size() == 1);
  CHECK(tells(sink.endings[0], "job \"other\""));
  CHECK(said_by(link).empty());
  CHECK(link.peer() == -1);
}

TEST_CASE("neither side accepts another secret") {
  auto const me = identity_of(0);
  auto wrong = identity_of(1);
  wrong.secret[31] ^= std::byte{1};
  CHECK(tells(refused_by(me, wrong), "does not know the job's secret"));

  recorder sink;  // a caller that does not care
  in_link link(sink, me);
  caller_greeting greeting(wrong, 0);
  feed(link, greeting.hello());
  said_by(link);
  feed(link, std::string(handshake::proof_bytes, 'x'));
  REQUIRE(sink.endings.size() == 1);
  CHECK(tells(sink.endings[0], "calls itself rank 1 does not know the job's secret"));
  CHECK(sink.greeted_by == -1);
  CHECK(link.peer() == -1);
}

TEST_CASE("a recorded greeting is worth nothing to a second link") {
  auto const me = identity_of(0), other = identity_of(1);
  caller_greeting caller(other, 0);
  std::string proof;
  recorder first_sink;
  in_link first(first_sink, me);
  feed(first, caller.hello());
  caller.receive(said_by(first), proof);
  feed(first, proof);
  REQUIRE(first_sink.greeted_by == 1);

  recorder sink;
  in_link second(sink, me);
  feed(second, caller.hello());
  feed(second, proof);
  CHECK(sink.greeted_by == -1);
  REQUIRE(sink.endings.size() == 1);
  CHECK(second.peer() == -1);
}

TEST_CASE("the answerer's proof cannot be sent back as the caller's") {
  auto const me = identity_of(0), other = identity_of(1);
  caller_greeting caller(other, 0);
  recorder sink;
  in_link link(sink, me);
  feed(link, caller.hello());
  auto const challenge = said_by(link);
  feed(link, challenge.substr(challenge.size() - handshake::proof_bytes));
  CHECK(sink.greeted_by == -1);
  CHECK(sink.endings.size() == 1);
}

TEST_CASE("a hello that is none, or too long, ends the link at the first byte that shows it") {
  auto const me = identity_of(0);
  std::string const right = caller_greeting(identity_of(1), 0).hello();
  auto const spoiled = [&](std::size_t at, char to) {
    auto h = right;
    h[at] = to;
    return h;
  };
  for (auto const& hello : {std::string("GET / HTTP/1.1\r\n\r\n"), spoiled(0, 'x'), spoiled(7, 9),
                            spoiled(8, 77), spoiled(11, 2) /* a job of 515 bytes */}) {
    for (std::size_t const piece : {std::size_t{1}, std::size_t{1000}}) {
      recorder sink;
      in_link link(sink, me);
      feed(link, hello, piece);
      CHECK(sink.endings.size() == 1);
      CHECK(sink.greeted_by == -1);
      CHECK_FALSE(feed(link, "more"));
    }
  }
}

TEST_CASE("a caller ends at a challenge that is none and at an answer that is no welcome") {
  auto const me = identity_of(1);
  std::string out;
  caller_greeting greeting(me, 0);
  CHECK(hocket::test::is_refused(refusal(
      [&] {
        greeting.receive(std::string(handshake::challenge_bytes, 'x'), out);
        return 0;
      },
      errc::corrupt)));
  CHECK(out.empty());

  auto const answerer = identity_of(0);
  recorder sink;
  in_link link(sink, answerer);
  caller_greeting second(me, 0);
  feed(link, second.hello());
  second.receive(said_by(link), out);
  CHECK(tells(refusal([&] { return second.receive("\x01", out), 0; }, errc::mismatch),
              "does not accept this rank's proof"));
  CHECK_FALSE(second.is_done());
}
