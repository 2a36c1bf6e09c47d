// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// The protocol, the table and the server's end of a connection, without sockets.
#include <doctest/doctest.h>

#include <algorithm>
#include <hocket/error.hpp>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "launch/store_session.hpp"
#include "refusal.hpp"

using namespace hocket;
using namespace hocket::rdzv;
using hocket::test::refusal;

namespace {

std::vector<request> samples() {
  return {{verb::set, {"/key"}, {"value"}, 0},
          {verb::set, {""}, {""}, 0},
          {verb::compare_set, {"/c"}, {"", std::string(300, 'd')}, 0},
          {verb::get, {"/g"}, {}, 0},
          {verb::add, {"/n"}, {}, -5},
          {verb::check, {"/a", "/bb", ""}, {}, 0},
          {verb::check, {}, {}, 0},
          {verb::wait, {"/w"}, {}, 0},
          {verb::count_keys, {}, {}, 0},
          {verb::erase, {"/e"}, {}, 0},
          {verb::append, {"/a"}, {"more"}, 0},
          {verb::multi_get, {"/x", "/y"}, {}, 0},
          {verb::multi_set, {"/x", "/y"}, {"1", "22"}, 0},
          {verb::cancel_wait, {}, {}, 0},
          {verb::ping, {}, {}, 0x7fff1234},
          {verb::validate, {}, {}, validate_magic}};
}

bool is_same(request const& a, request const& b) {
  return a.what == b.what && a.keys == b.keys && a.values == b.values && a.number == b.number;
}

struct no_owner final : store_session::owner {
  int resumed = 0;
  void session_resumed() noexcept override { ++resumed; }
};

// One plain client of an open server.
struct plain_client {
  explicit plain_client(store_table& t) : table(t), session(t, rules(), owner) {}
  static admission const& rules() {
    static admission const open{{}, "job", {}, true};
    return open;
  }
  std::string say(std::string_view bytes) {
    session.receive(bytes);
    table.settle();
    return heard();
  }
  std::string say(request const& r) {
    std::string bytes;
    encode(r, numbering::current, bytes);
    return say(bytes);
  }
  std::string heard() {
    std::string all;
    while (!session.output().empty()) {
      all += session.output();
      session.sent(session.output().size());
      table.settle();
    }
    return all;
  }
  void greet() {
    std::string bytes;
    encode({verb::validate, {}, {}, validate_magic}, numbering::current, bytes);
    encode({verb::ping, {}, {}, 77}, numbering::current, bytes);
    std::string answer;
    put_word(answer, 77);
    CHECK(say(bytes) == answer);
  }

  store_table& table;
  no_owner owner;
  store_session session;
};

std::string text(std::string_view value) {
  std::string all;
  put_text(all, value);
  return all;
}

std::string lengths(std::uint8_t code, std::uint64_t first) {
  std::string all(1, static_cast<char>(code));
  put_number(all, static_cast<std::int64_t>(first));
  return all;
}

}  // namespace

TEST_CASE("every request survives the wire in pieces of any size, in both numberings") {
  for (auto const n : {numbering::current, numbering::from_zero}) {
    std::string bytes;
    std::vector<request> sent;
    for (auto const& r : samples()) {
      bool const is_old = r.what >= verb::set && r.what <= verb::erase;
      if (n == numbering::from_zero && !is_old) continue;
      encode(r, n, bytes);
      sent.push_back(r);
    }
    for (std::size_t piece = 1; piece < 40; ++piece) {
      request_decoder decoder(n);
      std::vector<request> got;
      for (std::size_t at = 0; at < bytes.size(); at += piece) {
        auto left = std::string_view(bytes).substr(at, piece);
        while (!left.empty()) {
          left = decoder.feed(left);
          if (decoder.is_whole()) got.push_back(decoder.take());
        }
      }
      CHECK(decoder.is_between());
      CHECK(std::ranges::equal(sent, got, is_same));
    }
  }
}

TEST_CASE("bytes as PyTorch writes them, old and new") {
  // 1.13: SET is 0, ADD is 3. Newer ones: VALIDATE first, SET is 1.
  std::string const old("\x00\x02\x00\x00\x00\x00\x00\x00\x00/k\x01\x00\x00\x00\x00\x00\x00\x00v",
                        20);
  request_decoder first(numbering::from_zero);
  CHECK(first.feed(old).empty());
  CHECK(is_same(first.take(), {verb::set, {"/k"}, {"v"}, 0}));
  std::string const current("\x00\xCE\xF7\x85\x3C", 5);
  std::string bytes;
  encode({verb::validate, {}, {}, validate_magic}, numbering::current, bytes);
  CHECK(bytes == current);
  bytes.clear();
  encode({verb::wait, {"/k"}, {}, 0}, numbering::from_zero, bytes);
  CHECK(bytes == std::string("\x05\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0/k", 19));
}

TEST_CASE("lengths above their caps are refused before any of their bytes come") {
  auto const refused = [](std::string const& bytes) {
    return refusal([&] { return request_decoder(numbering::current).feed(bytes); },
                   errc::too_large);
  };
  CHECK(refused(lengths(3, key_bytes_max + 1)) == "get with a key of 8193 bytes, at most 8192");
  CHECK(refused(lengths(6, keys_max + 1)) == "wait of 131073 keys, at most 131072");
  CHECK(refused(lengths(3, ~0ull)).find("18446744073709551615") != std::string::npos);
  CHECK(refused(std::string("\x01") + text("/k") + lengths(0, value_bytes_max + 1).substr(1)) ==
        "set with a value of 8388609 bytes, at most 8388608");
  std::string many(1, '\x0b');
  put_number(many, 20);
  for (int i = 0; i < 9; ++i) many += text("k") + text(std::string(value_bytes_max, 'v'));
  CHECK(refused(many) == "multi_set of more than 67108864 bytes");
  CHECK(refusal([] { return request_decoder(numbering::current).feed("\x0e"); }, errc::corrupt) ==
        "14 is no command of a TCPStore");
  CHECK(refusal([] { return request_decoder(numbering::from_zero).feed("\x07"); }, errc::corrupt) ==
        "7 is no command of a TCPStore (old numbering)");
}

TEST_CASE("answers survive the wire in pieces, and their texts have a cap") {
  std::string bytes;
  put_byte(bytes, 1);
  put_number(bytes, -9);
  put_text(bytes, "a text");
  put_text(bytes, "");
  put_word(bytes, 0xfffffff0);
  for (std::size_t piece = 1; piece < 12; ++piece) {
    reply_decoder decoder;
    std::size_t at = 0;
    std::string_view left;
    auto const next = [&](reply_form form) {
      decoder.expect(form);
      while (!decoder.is_whole()) {
        if (left.empty()) {
          left = std::string_view(bytes).substr(at, piece);
          at += left.size();
        }
        left = decoder.feed(left);
      }
      return decoder.take();
    };
    CHECK(next(reply_form::byte).number == 1);
    CHECK(next(reply_form::none).number == 0);
    CHECK(next(reply_form::number).number == -9);
    CHECK(next(reply_form::text).text == "a text");
    CHECK(next(reply_form::text).text.empty());
    CHECK(next(reply_form::word).number == 0xfffffff0);
  }
  CHECK(refusal(
            [] {
              reply_decoder decoder;
              decoder.expect(reply_form::text);
              return decoder.feed(lengths(0, value_bytes_max + 1).substr(1));
            },
            errc::too_large) == "a value of 8388609 bytes, at most 8388608");
}

TEST_CASE("a parked client gets its answer once all keys have come, and may give up before") {
  store_table table(1 << 20);
  plain_client waits(table), gets(table), sets(table);
  for (auto* const c : {&waits, &gets, &sets}) c->greet();
  CHECK(waits.say({verb::wait, {"/a", "/b", "/a"}, {}, 0}).empty());
  CHECK(gets.say({verb::get, {"/a"}, {}, 0}).empty());
  CHECK(gets.say({verb::add, {"/n"}, {}, 3}).empty());  // stands behind the get
  CHECK(gets.session.is_at_rest());
  sets.say({verb::set, {"/a"}, {"1"}, 0});
  std::string answer = text("1");
  put_number(answer, 3);
  CHECK(gets.heard() == answer);
  CHECK(gets.owner.resumed == 1);
  CHECK(waits.heard().empty());
  sets.say({verb::multi_set, {"/b", "/c"}, {"2", "3"}, 0});
  CHECK(waits.heard() == std::string(1, '\0'));

  CHECK(waits.say({verb::wait, {"/never"}, {}, 0}).empty());
  CHECK(waits.say({verb::cancel_wait, {}, {}, 0}) == std::string(1, '\1'));
  sets.say({verb::set, {"/never"}, {""}, 0});
  CHECK(waits.heard().empty());
  CHECK(waits.say({verb::count_keys, {}, {}, 0}).size() == 8);
}

TEST_CASE("a client that dies parked is forgotten; one whose key was erased again waits on") {
  store_table table(1 << 20);
  plain_client sets(table);
  sets.greet();
  {
    plain_client gone(table);
    gone.greet();
    gone.say({verb::multi_get, {"/a", "/b"}, {}, 0});
    sets.say({verb::set, {"/a"}, {"1"}, 0});
  }
  plain_client waits(table);
  waits.greet();
  CHECK(waits.say({verb::multi_get, {"/a", "/b"}, {}, 0}).empty());
  sets.say({verb::erase, {"/a"}, {}, 0});
  sets.say({verb::set, {"/b"}, {"2"}, 0});
  CHECK(waits.heard().empty());
  sets.say({verb::append, {"/a"}, {"3"}, 0});
  CHECK(waits.heard() == text("3") + text("2"));
}

TEST_CASE("answers wait for a slow reader, so its requests wait, too") {
  store_table table(1 << 26);
  plain_client c(table);
  c.greet();
  c.say({verb::set, {"/k"}, {std::string(600'000, 'x')}, 0});
  std::string many;
  for (int i = 0; i < 100; ++i) encode({verb::get, {"/k"}, {}, 0}, numbering::current, many);
  c.session.receive(many);
  CHECK(c.session.output().size() < 2'000'000);
  CHECK(!c.session.wants_bytes());
  CHECK(c.heard().size() == 100 * (600'000 + 8));
  CHECK(c.session.wants_bytes());
}

TEST_CASE("arithmetic that does not fit, and a store that is full, end the client") {
  store_table table(1000);
  auto const fault = [&](request const& r) {
    plain_client c(table);
    c.greet();
    c.say(r);
    return c.session.fault();
  };
  table.set("/text", "x");
  table.set("/most", "9223372036854775807");
  CHECK(fault({verb::add, {"/text"}, {}, 1}).find("no number") != std::string::npos);
  CHECK(fault({verb::add, {"/most"}, {}, 1}).find("64 bits") != std::string::npos);
  CHECK(fault({verb::set, {"/k"}, {std::string(900, 'x')}, 0}).find("no room") !=
        std::string::npos);
  CHECK(fault({verb::set, {"/k"}, {std::string(90, 'x')}, 0}).empty());
  CHECK(fault({verb::validate, {}, {}, 5}).find("validate") != std::string::npos);
}

TEST_CASE("random bytes never harm the store of the others") {
  std::mt19937 random(20260);
  store_table table(1 << 20);
  plain_client good(table);
  good.greet();
  auto const all = samples();
  for (int round = 0; round < 3000; ++round) {
    plain_client bad(table);
    if (round % 3 != 0) bad.greet();
    std::string bytes;
    for (int i = 0; i < 4; ++i) {
      if (random() % 3 != 0)
        encode(all[random() % all.size()], numbering::current, bytes);
      else
        for (auto n = random() % 20; n > 0; --n) bytes += static_cast<char>(random() % 16);
    }
    for (auto flips = random() % 4; flips > 0 && !bytes.empty(); --flips)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    auto const cut = bytes.empty() ? 0 : random() % bytes.size();
    bad.say(std::string_view(bytes).substr(0, cut));
    bad.say(std::string_view(bytes).substr(cut));
  }
  std::string three;
  put_number(three, 3);
  good.say({verb::erase, {"/only ours"}, {}, 0});
  CHECK(good.say({verb::add, {"/only ours"}, {}, 3}) == three);
}
