// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Frames that come in any pieces, and bytes that are none.
#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "link_support.hpp"

using namespace hocket;
using namespace hocket::host;
using namespace hocket::host::test;

namespace {

std::string text_of_length(std::size_t n, char first) {
  std::string s(n, ' ');
  for (std::size_t i = 0; i < n; ++i)
    s[i] = static_cast<char>(static_cast<std::size_t>(first) + i % 23);
  return s;
}

std::string data_frame(std::uint64_t transfer, std::uint64_t at, std::string const& bytes) {
  auto h = head_of(frame_kind::data, 0, bytes.size());
  h.tag = transfer;
  h.address = at;
  return bytes_of(h, {}, bytes);
}

// Frames of all sorts, and what a link makes of them.
struct conversation {
  std::string const large = text_of_length(301, 'a');
  std::string bytes = bytes_of(head_of(frame_kind::call, 5, 7), "extra", "payload") +
                      data_frame(3, 0, large.substr(0, 150)) +
                      bytes_of(head_of(frame_kind::leave, 3), "bye") +
                      data_frame(4, 0, text_of_length(90, 'k')) +
                      data_frame(3, 150, large.substr(150)) + bytes_of(head_of(frame_kind::fetch));
  std::vector<std::string> const events = {"call extra|payload", "data 3 150", "leave bye|",
                                           "data 4 90",          "data 3 151", "fetch |"};
};

std::string ending_at(std::string const& bytes, std::size_t piece = SIZE_MAX) {
  greeted_link g;
  feed(g.link, bytes, piece);
  CHECK(g.sink.events.empty());
  CHECK_FALSE(feed(g.link, "x"));  // nothing is read after the end
  return g.sink.endings.size() == 1 ? g.sink.endings[0] : "(no ending)";
}

}  // namespace

TEST_CASE("frames come out alike, wherever the bytes are cut") {
  conversation const talk;
  auto const hear = [&](auto&& deliver) {
    greeted_link g;
    std::string place(talk.large.size(), '\0');
    g.sink.landings = {{3, &place}, {4, nullptr}};
    deliver(g.link);
    CHECK(g.sink.events == talk.events);
    CHECK(place == talk.large);
    CHECK(g.sink.endings.empty());
  };
  for (std::size_t const piece : {1u, 2u, 7u, 119u, 120u, 121u, 500u})
    hear([&](in_link& to) { feed(to, talk.bytes, piece); });
  for (std::size_t cut = 0; cut <= talk.bytes.size(); ++cut)
    hear([&](in_link& to) {
      feed(to, talk.bytes.substr(0, cut));
      feed(to, talk.bytes.substr(cut));
    });
}

TEST_CASE("what comes with the last byte of the greeting is a frame") {
  auto const me = identity_of(0), other = identity_of(1);
  recorder sink;
  in_link link(sink, me);
  caller_greeting caller(other, 0);
  std::string out;
  feed(link, caller.hello());
  caller.receive(said_by(link), out);
  feed(link, out + bytes_of(head_of(frame_kind::leave, 2), "hi"));
  CHECK(sink.greeted_by == 1);
  CHECK(sink.events == std::vector<std::string>{"leave hi|"});
}

TEST_CASE("an end in the middle of anything is told once, with its reason") {
  conversation const talk;
  for (std::size_t cut = 0; cut < talk.bytes.size(); cut += 11) {
    greeted_link g;
    std::string place(talk.large.size(), '\0');
    g.sink.landings = {{3, &place}, {4, nullptr}};
    feed(g.link, talk.bytes.substr(0, cut));
    g.link.ended(boost::system::errc::make_error_code(boost::system::errc::connection_reset));
    CHECK(g.sink.endings == std::vector<std::string>{"Connection reset by peer"});
    CHECK(g.link.to_read().empty());
  }
}

TEST_CASE("a description of the greatest length is taken, a longer one is not waited for") {
  greeted_link g;
  auto const longest = text_of_length(extra_bytes_max, 'A');
  auto const payload = text_of_length(inline_bytes_max, 'B');
  feed(g.link,
       bytes_of(head_of(frame_kind::call, longest.size(), payload.size()), longest, payload),
       100'000);
  REQUIRE(g.sink.events.size() == 1);
  CHECK(g.sink.events[0] == "call " + longest + "|" + payload);

  CHECK(ending_at(bytes_of(head_of(frame_kind::call, extra_bytes_max + 1))) ==
        "a call frame has 1048577 bytes of description, at most 1048576 are allowed");
  CHECK(ending_at(bytes_of(head_of(frame_kind::leave, 0xffffffff))) ==
        "a leave frame has 4294967295 bytes of description, at most 1048576 are allowed");
}

TEST_CASE("more data than a frame of its kind may have is not waited for") {
  CHECK(ending_at(bytes_of(head_of(frame_kind::call, 0, inline_bytes_max + 1))) ==
        "a call frame has 8193 bytes of data, at most 8192 are allowed");
  CHECK(ending_at(bytes_of(head_of(frame_kind::mark, 0, inline_bytes_max + 1))) ==
        "a mark frame has 8193 bytes of data, at most 8192 are allowed");
  CHECK(ending_at(bytes_of(head_of(frame_kind::data, 0, chunk_bytes_max + 1))) ==
        "a data frame has 262145 bytes of data, at most 262144 are allowed");
  CHECK(ending_at(bytes_of(head_of(frame_kind::outcome, 0, 1))) ==
        "a outcome frame has 1 bytes of data, at most 0 are allowed");
}

TEST_CASE("a head with another magic or kind ends the link") {
  for (std::size_t const piece : {std::size_t{1}, SIZE_MAX}) {
    auto h = head_of(frame_kind::call);
    h.magic = 0x20544547;
    CHECK(ending_at(bytes_of(h), piece) == "a frame begins with 0x20544547, not with 0x31544b48");
    h = head_of(static_cast<frame_kind>(14));
    CHECK(ending_at(bytes_of(h), piece) == "frame kind 14 does not exist");
    h = head_of(static_cast<frame_kind>(255));
    CHECK(ending_at(bytes_of(h), piece) == "frame kind 255 does not exist");
  }
}

TEST_CASE("data that nobody has asked for ends the link") {
  CHECK(ending_at(data_frame(99, 0, "abc")) == "nobody has asked for this");
}

TEST_CASE("a transfer that is forsaken half way writes to its place no more") {
  greeted_link g;
  std::string place(60, '.');
  g.sink.landings = {{3, &place}};
  auto const bytes = data_frame(3, 0, text_of_length(60, 'a'));
  feed(g.link, bytes.substr(0, sizeof(frame_head) + 20));
  CHECK(g.link.is_receiving(3));
  CHECK_FALSE(g.link.is_receiving(4));
  g.link.forsake(4);
  g.link.forsake(3);
  feed(g.link, bytes.substr(sizeof(frame_head) + 20) + bytes_of(head_of(frame_kind::fetch)), 7);
  CHECK(place == text_of_length(60, 'a').substr(0, 20) + std::string(40, '.'));
  CHECK(g.sink.events == std::vector<std::string>{"data 3 60", "fetch |"});
}

TEST_CASE("random bytes and random damage never take a link anywhere but to its end") {
  std::mt19937_64 random(20240607);
  conversation const talk;
  int ended = 0;
  for (int round = 0; round < 3000; ++round) {
    auto bytes = talk.bytes;
    for (auto n = 1 + random() % 4; n > 0; --n)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    greeted_link g;
    g.sink.landings = {{3, nullptr}, {4, nullptr}};
    feed(g.link, bytes, 1 + random() % 600);
    CHECK(g.sink.endings.size() <= 1);
    ended += static_cast<int>(g.sink.endings.size());
  }
  CHECK(ended > 100);
}
