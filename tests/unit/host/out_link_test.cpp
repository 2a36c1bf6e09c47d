// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// What an outgoing link writes, in whatever pieces a socket takes it.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/host/notice.hpp"
#include "link_support.hpp"

using namespace hocket;
using namespace hocket::host;
using namespace hocket::host::test;

namespace {

class counted_shipment final : public shipment {
 public:
  counted_shipment(std::uint64_t transfer, std::uint64_t of, std::string const& bytes, int& ended)
      : ended_(ended) {
    head.kind = frame_kind::data;
    head.tag = transfer;
    exposure = of;
    left = std::as_bytes(std::span(bytes.data(), bytes.size()));
  }
  void done() noexcept override { ++ended_; }

 private:
  int& ended_;
};

struct open_link {
  open_link() {
    link.peer = 0;
    link.on_end = [](out_link& self, boost::system::error_code) noexcept {
      ++*static_cast<int*>(self.owner);
    };
    link.owner = &ends;
    link.begin(caller);
    answer(1000);
  }
  void answer(std::size_t piece) {
    std::string out;
    static_cast<void>(greeting.receive(said_by(link), out));
    feed(link, std::exchange(out, {}), piece);
    static_cast<void>(greeting.receive(said_by(link), out));
    feed(link, out, piece);
  }
  identity const caller = identity_of(1), answerer = identity_of(0);
  answerer_greeting greeting{answerer};
  out_link link;
  int ends = 0;
};

// Takes what the link writes as its peer would.
struct listening_end {
  explicit listening_end(std::map<std::uint64_t, std::string*> landings) {
    g.sink.landings = std::move(landings);
  }
  greeted_link g;
};

}  // namespace

TEST_CASE("letters and shipments come whole, whatever a socket takes at once") {
  std::string const large(2 * chunk_bytes_max + 13, 'L');
  std::string const small = "small";
  for (std::size_t const piece : {std::size_t{1000}, std::size_t{119}, SIZE_MAX}) {
    open_link o;
    REQUIRE(o.link.is_open());
    int ended = 0;
    o.link.send(notice(frame_kind::leave, 1, 1, "first"));
    o.link.send(std::make_unique<counted_shipment>(3, 8, large, ended));
    o.link.send(std::make_unique<counted_shipment>(4, 9, small, ended));
    o.link.send(notice(frame_kind::leave, 1, 1, "second"));
    CHECK(o.link.waiting_bytes() == 2 * sizeof(frame_head) + 11);

    std::string a(large.size(), '\0'), b(small.size(), '\0');
    listening_end there({{3, &a}, {4, &b}});
    feed(there.g.link, said_by(o.link, piece), 70'000);
    CHECK(a == large);
    CHECK(b == small);
    CHECK(ended == 2);
    CHECK(o.link.idle());
    CHECK(o.link.waiting_bytes() == 0);
    CHECK(there.g.sink.events == std::vector<std::string>{"leave first|", "leave second|",
                                                          "data 3 262144", "data 4 5",
                                                          "data 3 262144", "data 3 13"});
  }
}

TEST_CASE("a shipment that is recalled in the middle of a chunk leaves the peer in step") {
  for (std::size_t const written : {0u, 1u, 119u, 120u, 121u, 5000u, 262'263u, 262'264u}) {
    open_link o;
    int ended = 0;
    auto bytes = std::make_unique<std::string>(chunk_bytes_max + 500, 'B');
    o.link.send(std::make_unique<counted_shipment>(3, 8, *bytes, ended));
    std::string said;
    if (written > 0) {
      for (iovec const& p : o.link.to_write())
        said.append(static_cast<char const*>(p.iov_base),
                    std::min(p.iov_len, written - said.size()));
      o.link.written(said.size());
    }
    o.link.recall(8);
    bytes.reset();  // the owner has it back
    o.link.send(notice(frame_kind::leave, 1, 1, "after"));
    said += said_by(o.link, 3000);
    CHECK(ended == 1);

    std::string place(chunk_bytes_max + 500, '\0');
    listening_end there({{3, &place}});
    feed(there.g.link, said);
    CHECK(there.g.sink.endings.empty());
    auto const& events = there.g.sink.events;
    REQUIRE(events.size() >= 2);
    CHECK(events[events.size() - 2] == "refuse |");
    CHECK(events.back() == "leave after|");
    if (events.size() == 3)
      CHECK(place.substr(0, chunk_bytes_max) == std::string(chunk_bytes_max, 'B'));
  }
}

TEST_CASE("an answerer that is the wrong one ends the link with its story, whatever it says") {
  auto const caller = identity_of(1);
  auto stranger = identity_of(0);
  stranger.secret[0] ^= std::byte{1};
  for (int round = 0; round < 2; ++round) {
    out_link link;
    int ends = 0;
    link.peer = 0;
    link.owner = &ends;
    link.on_end = [](out_link& self, boost::system::error_code) noexcept {
      ++*static_cast<int*>(self.owner);
    };
    link.begin(caller);
    link.send(notice(frame_kind::leave, 1, 1, "not for strangers"));
    answerer_greeting greeting(stranger);
    std::string out;
    static_cast<void>(greeting.receive(said_by(link), out));
    if (round == 1) out.assign(500, 'x');
    feed(link, out, 40);
    CHECK(ends == 1);
    CHECK_FALSE(link.is_open());
    CHECK_FALSE(link.fault().empty());
    CHECK(said_by(link).empty());
    CHECK(link.to_read().empty());
  }
}

TEST_CASE("what an answerer says after its welcome is read and ignored") {
  open_link o;
  REQUIRE(o.link.is_open());
  CHECK(feed(o.link, std::string(100'000, 'x')));
  CHECK(o.ends == 0);
  CHECK(o.link.is_open());
}

TEST_CASE("a link that ends lets go of everything that was to be sent") {
  open_link o;
  int ended = 0;
  std::string const bytes(1000, 'b');
  o.link.send(std::make_unique<counted_shipment>(3, 8, bytes, ended));
  o.link.send(notice(frame_kind::leave, 1, 1, "x"));
  static_cast<void>(o.link.to_write());
  o.link.written(50);
  o.link.ended(boost::system::errc::make_error_code(boost::system::errc::broken_pipe));
  o.link.ended({});
  CHECK(ended == 1);
  CHECK(o.ends == 1);
  CHECK(o.link.idle());
  CHECK(o.link.waiting_bytes() == 0);
  CHECK(o.link.to_write().empty());
}
