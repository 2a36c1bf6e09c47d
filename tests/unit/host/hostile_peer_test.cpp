// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// A peer that greets rightly, and then says what no rank says: it is lost, with a story, to whom it
// said that, and nobody else is.
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "announced.hpp"
#include "engine/host/announcement.hpp"
#include "foe.hpp"

using namespace hocket;
using namespace hocket::host;
using namespace hocket::host::test;

namespace {

std::string changed(frame_kind kind, std::function<void(frame_head&)> const& how,
                    std::string const& extra = {}) {
  auto h = from_foe(kind);
  how(h);
  return say(h, extra);
}

struct attack {
  attack(std::string b, std::string s) : bytes(std::move(b)), story(std::move(s)) {}
  std::string bytes, story;
};

void check_loss(std::vector<attack> const& attacks) {
  for (auto const& a : attacks) {
    CAPTURE(a.story);
    battle b;
    auto const into = tensor::empty(dtype::u8, shape(3));
    auto const waits = b.victim.group->recv(into, group_rank(1));
    b.enemy.say(a.bytes);
    auto const story = ending_of(waits);
    CHECK_MESSAGE(story.find("its process is gone: ") != std::string::npos, story);
    CHECK_MESSAGE(story.find(a.story) != std::string::npos, story);
    CHECK(b.enemy.is_cut_off());
    b.check_service();
  }
}

void check_no_loss(battle& b) {
  b.check_service();
  // It is still a rank: a right call of it counts.
  auto h = from_foe(frame_kind::call);
  h.operation = static_cast<std::uint8_t>(op_kind::send);
  h.root = 0;
  h.flags = frame_flags::has_shape | frame_flags::is_inline;
  h.count = 3;
  auto const waits = b.victim.group->recv(group_rank(1));
  b.enemy.say(say(h, described({gift(dtype::u8, {3})}), "xyz"));
  auto const got = waits.get(patience);
  CHECK(std::string(reinterpret_cast<char const*>(got.bytes()), 3) == "xyz");
}

}  // namespace

TEST_CASE("bytes that are no frame") {
  auto magic = from_foe(frame_kind::call);
  magic.magic = 1;
  auto kind = from_foe(static_cast<frame_kind>(77));
  auto large = from_foe(frame_kind::leave);
  large.extra_bytes = 2'000'000;
  check_loss({{bytes_of(magic), "a frame begins with 0x00000001, not with 0x31544b48"},
              {bytes_of(kind), "frame kind 77 does not exist"},
              {bytes_of(large), "2000000 bytes of description, at most 1048576"},
              {std::string(5000, '\xff'), "a frame begins with 0xffffffff"}});
}

TEST_CASE("data that nobody has asked for") {
  auto h = from_foe(frame_kind::data);
  h.tag = 900;
  check_loss({{say(h, {}, std::string(100, 'x')), "100 bytes of data of transfer 900"},
              {say(h), "0 bytes of data of transfer 900"}});
}

TEST_CASE("frames that say they are from somebody else") {
  auto const with_rank = [](int r) {
    return changed(frame_kind::leave, [r](frame_head& h) {
      h.rank = r;
      h.code = wire_code(make_error_code(errc::peer_failed));
    });
  };
  check_loss({{with_rank(2), "says that it is from rank 2"},
              {with_rank(0), "says that it is from rank 0"},
              {with_rank(3), "says that it is from rank 3"},
              {with_rank(-1), "says that it is from rank -1"},
              {with_rank(2147483647), "says that it is from rank 2147483647"}});
}

TEST_CASE("frames of the group that name what is not there") {
  auto const nothing = [](frame_head&) {};
  auto const code = [](std::uint32_t c) { return [c](frame_head& h) { h.code = c; }; };
  check_loss(
      {{changed(frame_kind::mark, [](frame_head& h) { h.handle = 4; }),
        "handle 4 names no marked call"},
       {changed(frame_kind::close_channel, nothing), "channel 0 is the group and is not closed"},
       {changed(frame_kind::revoke, [](frame_head& h) { h.root = 9; }), "revoked by rank 9 of 3"},
       {changed(frame_kind::revoke, [](frame_head& h) { h.root = -1; }), "revoked by rank -1 of 3"},
       {changed(frame_kind::leave, nothing), "failure code 0 does not exist"},
       {changed(frame_kind::leave, code(4000000000)), "failure code 4000000000 does not exist"},
       {changed(frame_kind::fetched, code(9999)), "failure code 9999 does not exist"}});
}

TEST_CASE("calls that no member makes") {
  auto const call = [](std::function<void(frame_head&)> const& how, std::string const& extra) {
    return changed(frame_kind::call, how, extra);
  };
  auto const right = described({});
  auto const as = [](op_kind k) {
    return [k](frame_head& h) { h.operation = static_cast<std::uint8_t>(k); };
  };
  auto const nothing = [](frame_head&) {};
  check_loss(
      {{call(as(op_kind::recv), right), "a receive is not announced"},
       {call([](frame_head& h) { h.operation = 200; }, right), "that does not exist"},
       {call([](frame_head& h) { h.root = 3; }, right), "root 3 of a group of 3"},
       {call([](frame_head& h) { h.sequence = std::uint64_t{1} << 40; }, right),
        "barrier #1099511627776 of channel 0 is announced twice or too early"},
       {call(nothing, right) + call(nothing, right), "is announced twice or too early"},
       {call(nothing, right.substr(0, right.size() - 1)), "a frame ends in the middle of a value"},
       {call(nothing, {}), "a frame ends in the middle of a value"},
       {call(nothing, right + "x"), "a call frame says more than it should"},
       {changed(frame_kind::failed, nothing, right), "failure code 0 does not exist"}});
}

TEST_CASE("joins and refusals that are none") {
  std::string many;  // a list of more members than there are bytes
  put(many, std::uint32_t{1});
  many += "g";
  put(many, std::uint32_t{0xffffffff});
  put(many, std::int32_t{1});
  check_loss({{say(head_of(frame_kind::join), many), "a frame ends in the middle of a value"},
              {say(head_of(frame_kind::join)), "a frame ends in the middle of a value"},
              {say(head_of(frame_kind::refuse)), "failure code 0 does not exist"}});
}

TEST_CASE("a second call of a peer that is connected") {
  battle b;
  auto const into = tensor::empty(dtype::u8, shape(3));
  auto const waits = b.victim.group->recv(into, group_rank(1));
  b.check_service();
  CHECK_THROWS_WITH(static_cast<void>(foe::call(b.victim.address(), 0)),
                    "the victim has closed the connection");
  auto const story = ending_of(waits);
  CHECK_MESSAGE(story.find("rank 1 calls a second time") != std::string::npos, story);
  CHECK(b.enemy.is_cut_off());
  b.check_service();
}

TEST_CASE("words about what the receiver does not know, which may only be late, change nothing") {
  battle b;
  for (auto const kind : {frame_kind::leave, frame_kind::call, frame_kind::mark})
    b.enemy.say(changed(kind, [](frame_head& h) { h.group = 0xdead; }));
  b.enemy.say(changed(frame_kind::outcome, [](frame_head& h) { h.handle = 12345; }));
  for (std::uint64_t id = 0; id < 40; ++id) {
    b.enemy.say(changed(frame_kind::fetched, [id](frame_head& h) { h.address = id; }));
    b.enemy.say(changed(frame_kind::ready, [id](frame_head& h) { h.address = id; }));
    b.enemy.say(changed(frame_kind::refuse, [id](frame_head& h) {
      h.tag = id;
      h.flags = frame_flags::of_transfer;
    }));
  }
  check_no_loss(b);
}

TEST_CASE("bytes of buffers that are not there, or not for the asker, are refused") {
  battle b;
  auto const n = std::int64_t{200'001};
  auto const secret = tensor::empty(dtype::u8, shape(n));
  auto const got = tensor::empty(dtype::u8, shape(n));
  for (std::int64_t i = 0; i < n; ++i) secret.bytes()[i] = static_cast<std::byte>(i * 3);
  auto const sent = b.victim.group->send(secret, group_rank(2));
  auto ask = from_foe(frame_kind::fetch);
  std::uint64_t tag = 50;
  for (std::uint64_t id = 0; id < 30; ++id)
    for (std::uint64_t const bytes : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}}) {
      ask.address = id;
      ask.bytes = bytes;
      ask.tag = tag++;
      b.enemy.say(say(ask));
    }
  b.enemy.answer();
  for (std::uint64_t t = 50; t < tag; ++t) {
    auto const f = b.enemy.hear(frame_kind::refuse);
    CHECK(f.head.flags == frame_flags::of_transfer);
    CHECK(f.head.tag == t);
  }
  // Nor does it matter what the foe says of it.
  for (std::uint64_t id = 0; id < 30; ++id) {
    auto h = from_foe(frame_kind::fetched);
    h.address = id;
    h.code = wire_code(make_error_code(errc::peer_failed));
    b.enemy.say(say(h, "spoiled"));
  }
  CHECK(ending_of(b.witness.group->recv(got, group_rank(0))) == "done");
  CHECK(ending_of(sent) == "done");
  CHECK(std::memcmp(got.bytes(), secret.bytes(), got.nbytes()) == 0);
  check_no_loss(b);
}

TEST_CASE("parts of a buffer that reach beyond its end are refused") {
  battle b;
  auto const n = std::int64_t{20'000};
  auto const t = tensor::empty(dtype::u8, shape(n));
  for (std::int64_t i = 0; i < n; ++i) t.bytes()[i] = static_cast<std::byte>(i * 3);
  auto const sent = b.victim.group->send(t, group_rank(1));
  b.enemy.answer();
  auto const call = b.enemy.hear(frame_kind::call);
  auto ask = from_foe(frame_kind::fetch);
  ask.address = call.head.address;
  auto const refused = [&](std::uint64_t item, std::uint64_t offset, std::uint64_t bytes) {
    ask.sequence = item;
    ask.handle = offset;
    ask.bytes = bytes;
    ++ask.tag;
    b.enemy.say(say(ask));
    CHECK(b.enemy.hear(frame_kind::refuse).head.tag == ask.tag);
  };
  refused(0, 0, 20'001);
  refused(0, 1, 20'000);
  refused(0, 20'000, 1);
  refused(0, 20'001, 1);
  refused(0, ~std::uint64_t{0}, 2);
  refused(0, 2, ~std::uint64_t{0});
  refused(1, 0, 1);
  refused(~std::uint64_t{0}, 0, 1);
  ask.sequence = 0;
  ask.handle = 19'998;
  ask.bytes = 2;
  b.enemy.say(say(ask));
  auto const last = reinterpret_cast<char const*>(t.const_bytes()) + 19'998;
  CHECK(b.enemy.hear(frame_kind::data).payload == std::string(last, 2));
  auto over = from_foe(frame_kind::outcome);
  over.handle = call.head.handle;
  b.enemy.say(say(over));
  CHECK(ending_of(sent) == "done");
  b.check_service();
}
