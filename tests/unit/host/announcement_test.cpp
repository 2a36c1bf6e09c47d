// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Calls as other processes tell them, right and damaged.
#include "engine/host/announcement.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <hocket/error.hpp>
#include <limits>
#include <random>
#include <refusal.hpp>
#include <string>
#include <vector>

#include "announced.hpp"
#include "link_support.hpp"

using namespace hocket;
using namespace hocket::host;
using namespace hocket::host::test;
using hocket::test::refusal;

namespace {

constexpr int members = 4;

tensor counted(dtype type, shape const& s) {
  auto t = tensor::empty(type, s);
  for (std::size_t i = 0; i < t.nbytes(); ++i) t.bytes()[i] = static_cast<std::byte>(i * 7 + 1);
  return t;
}

// What the engine itself says of such calls.
std::vector<letter> right_letters() {
  std::vector<letter> all;
  auto const say = [&](op_kind kind, tensor in, bool is_inline, std::vector<tensor> more = {}) {
    boost::intrusive_ptr<remote_call> const c(new remote_call("g[0,1,2,3]"), false);
    request& r = c->asked;
    r.op = c.get();
    r.rank = 1;
    r.print.kind = kind;
    r.print.root = 1;
    r.print.has_shape = true;
    r.in = std::move(in);
    r.attachments = std::move(more);
    announcement const a(r);
    auto const gifts = a.gifts(2);
    all.push_back(a.letter_for(99, gifts, is_inline, is_inline ? 0 : 5, 12));
    all.push_back(a.mark_for(99, gifts, is_inline, is_inline ? 0 : 5, 12));
  };
  say(op_kind::all_gather, counted(dtype::f32, shape(3, 5)), true);
  say(op_kind::broadcast, counted(dtype::i64, shape(1000, 3)), false);
  say(op_kind::all_reduce, counted(dtype::bf16, shape(7)), true);
  say(op_kind::barrier, tensor(), true);
  say(op_kind::send_object, counted(dtype::u8, shape(33)), true,
      {counted(dtype::f64, shape()), counted(dtype::u8, shape(0, 4))});
  return all;
}

struct parts {
  explicit parts(letter const& l) : head(l.head) {
    extra.assign(l.body.begin(), l.body.begin() + l.head.extra_bytes);
    payload.assign(l.body.begin() + l.head.extra_bytes, l.body.end());
  }
  frame_head head;
  std::vector<std::byte> extra, payload;
};

// "taken", or the story of the refusal. Nothing may be larger than what came.
std::string read(parts const& p) {
  try {
    std::vector<given> gives;
    std::size_t here = 0;
    if (p.head.kind == frame_kind::mark) {
      auto const told = read_mark(p.head, p.extra, p.payload);
      gives = told.gives;
      here = bytes_of(told.items);
    } else {
      auto const c = read_announcement(p.head, p.extra, p.payload, "g[0,1,2,3]", members);
      gives = c->gives;
      if (c->asked.in.defined()) here = c->asked.in.nbytes() + bytes_of(c->asked.attachments);
      CHECK(c->sends.size() <= members);
      CHECK(c->part.site.size() <= p.extra.size());
    }
    CHECK(here == p.payload.size());
    CHECK(gives.size() * 10 <= p.extra.size());
    for (auto const& g : gives) CHECK(g.bytes() <= std::size_t{1} << 62);
    return "taken";
  } catch (error const& e) {
    CHECK(e.code() == errc::corrupt);
    return e.what();
  }
}

std::string read(frame_head const& head, std::string const& extra,
                 std::string const& payload = {}) {
  letter l;
  l.head = head;
  l.head.extra_bytes = static_cast<std::uint32_t>(extra.size());
  auto const bytes = std::as_bytes(std::span(extra.data(), extra.size()));
  l.body.assign(bytes.begin(), bytes.end());
  auto const more = std::as_bytes(std::span(payload.data(), payload.size()));
  l.body.insert(l.body.end(), more.begin(), more.end());
  return read(parts(l));
}

bool tells(std::string const& story, std::string const& text) {
  return story.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("what the engine says of a call is what is read") {
  for (auto const& l : right_letters()) CHECK(read(parts(l)) == "taken");
}

TEST_CASE("a description that is cut short, or longer than what it describes, is corrupt") {
  for (auto const& l : right_letters()) {
    parts const right(l);
    for (std::size_t n = 0; n < right.extra.size(); ++n) {
      auto p = right;
      p.extra.resize(n);
      CHECK(read(p) != "taken");
    }
    for (std::size_t n = 0; n < right.payload.size(); ++n) {
      auto p = right;
      p.payload.resize(n);
      CHECK(read(p) != "taken");
    }
    auto p = right;
    p.extra.push_back(std::byte{0});
    CHECK(tells(read(p), "says more than it should"));
    p = right;
    p.payload.push_back(std::byte{0});
    CHECK(tells(read(p), "more bytes than it describes"));
  }
}

TEST_CASE("any single byte of a description may be anything") {
  for (auto const& l : right_letters()) {
    parts const right(l);
    for (std::size_t at = 0; at < right.extra.size(); ++at)
      for (int const value : {0, 1, 0x7f, 0x80, 0xff}) {
        auto p = right;
        p.extra[at] = static_cast<std::byte>(value);
        static_cast<void>(read(p));
      }
  }
}

TEST_CASE("random damage is corrupt or a valid call") {
  std::mt19937_64 random(7);
  auto const right = right_letters();
  int taken = 0, refused = 0;
  for (int round = 0; round < 60'000; ++round) {
    parts p(right[random() % right.size()]);
    for (auto n = random() % 4; n > 0 && !p.extra.empty(); --n)
      p.extra[random() % p.extra.size()] = static_cast<std::byte>(random());
    if (random() % 4 == 0) {
      auto* const head = reinterpret_cast<unsigned char*>(&p.head);
      auto const kind = p.head.kind;
      head[random() % sizeof p.head] = static_cast<unsigned char>(random());
      p.head.kind = kind;
    }
    if (random() % 8 == 0) p.extra.resize(random() % (p.extra.size() + 20));
    if (random() % 8 == 0) p.payload.resize(random() % (p.payload.size() + 20));
    ++(read(p) == "taken" ? taken : refused);
  }
  CHECK(taken > 1000);
  CHECK(refused > 1000);
}

TEST_CASE("what a call claims beyond what came is believed only as a claim") {
  auto h = head_of(frame_kind::call);
  h.operation = static_cast<std::uint8_t>(op_kind::broadcast);
  h.root = 1;
  auto const huge = std::vector<gift>{gift(dtype::f32, {std::int64_t{1} << 40})};
  h.flags = 0;  // to be fetched: room is made when the call is carried out
  CHECK(read(h, described(huge)) == "taken");
  h.flags = frame_flags::is_inline;
  CHECK(tells(read(h, described(huge), "abc"), "ends in the middle"));
  // Extents whose product does not fit.
  for (auto const& extents :
       {std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max()},
        std::vector<std::int64_t>{std::int64_t{1} << 31, std::int64_t{1} << 31},
        std::vector<std::int64_t>{0, std::int64_t{1} << 62}, std::vector<std::int64_t>{3, -1}})
    CHECK(tells(read(h, described({gift(dtype::f32, extents)})), "a dimension of"));
  CHECK(tells(read(h, described({gift(dtype::u8, {1, 1, 1, 1, 1, 1, 1, 1, 1})})),
              "a tensor of 9 dimensions"));
  CHECK(read(h, described({}, 0xffffffff)) != "taken");
  CHECK(tells(read(h, described({}, 0, 0xffffffff)), "4294967295 parts for a group of 4"));
}

TEST_CASE("heads that name what does not exist are corrupt") {
  auto const right = described({});
  auto const spoiled = [&](auto&& how) {
    auto h = head_of(frame_kind::call);
    how(h);
    return read(h, right);
  };
  CHECK(spoiled([](frame_head&) {}) == "taken");
  auto const nothing = "operation, dtype or reduction that does not exist";
  CHECK(tells(spoiled([](frame_head& h) { h.operation = 17; }), nothing));
  CHECK(tells(spoiled([](frame_head& h) { h.dtype = 200; }), nothing));
  CHECK(tells(spoiled([](frame_head& h) { h.reduction = 200; }), nothing));
  CHECK(tells(spoiled([](frame_head& h) { h.root = members; }), "root 4 of a group of 4"));
  CHECK(tells(spoiled([](frame_head& h) { h.root = -2; }), "root -2 of a group of 4"));
}

TEST_CASE("failure codes that no version of this library has are corrupt") {
  for (std::uint32_t const code : {0U, 1000U, 0xffffffffU})
    CHECK(tells(refusal([&] { return code_of_wire(code); }, errc::corrupt), "does not exist"));
  CHECK(code_of_wire(wire_code(make_error_code(errc::mismatch))) == errc::mismatch);
  CHECK(code_of_wire(wire_code(boost::system::errc::make_error_code(
            boost::system::errc::not_enough_memory))) == errc::peer_failed);
}
