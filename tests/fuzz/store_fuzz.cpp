// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// The server's end of a store connection, fed with whatever comes: raw, or behind a right greeting.
// The first byte chooses, the second one cuts the rest into pieces.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <hocket/error.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "group/handshake.hpp"
#include "launch/store_session.hpp"

namespace {

using namespace hocket;
using namespace hocket::rdzv;

struct nobody final : store_session::owner {
  void session_resumed() noexcept override {}
};

struct peer {
  peer(store_table& t, admission const& rules) : table(t), session(t, rules, owner) {}
  std::string say(std::string_view bytes) {
    if (session.wants_bytes()) session.receive(bytes);
    table.settle();
    std::string all;
    while (!session.output().empty()) {
      all += session.output();
      session.sent(session.output().size());
      table.settle();
    }
    return all;
  }
  store_table& table;
  nobody owner;
  store_session session;
};

launch_secret a_secret() {
  std::array<std::byte, launch_secret::size> bytes{};
  bytes[0] = std::byte{7};
  return launch_secret(bytes);
}

void greet_plainly(peer& p) {
  std::string bytes;
  encode({verb::validate, {}, {}, validate_magic}, numbering::current, bytes);
  p.say(bytes);
}

void greet_with_secret(peer& p) {
  handshake::hello h;
  h.job = "j";
  auto const sent = handshake::encode(h);
  auto const c = handshake::decode_challenge(p.say(sent));
  auto const proof = handshake::prove(handshake::side::caller, a_secret().bytes(), sent, c.random);
  if (p.say(handshake::view(proof)) != std::string(1, '\0')) std::abort();
}

void decode_as_client(std::string_view bytes, reply_form form) {
  try {
    reply_decoder decoder;
    decoder.expect(form);
    (void)decoder.feed(bytes);
    (void)handshake::decode_challenge(bytes.substr(0, handshake::challenge_bytes));
  } catch (error const&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static admission const closed{a_secret(), "j", 0, false};
  static admission const open{a_secret(), "j", 0, true};
  if (size < 2) return 0;
  std::string_view bytes(reinterpret_cast<char const*>(data) + 2, size - 2);
  auto const mode = data[0] % 6;
  if (mode == 5) {
    decode_as_client(bytes, static_cast<reply_form>(data[1] % 5));
    return 0;
  }
  store_table table(1 << 20);
  auto good = std::make_unique<peer>(table, open);
  greet_plainly(*good);
  peer bad(table, mode == 0 || mode == 3 ? closed : open);
  if (mode == 2 || mode == 4) greet_plainly(bad);
  if (mode == 3) greet_with_secret(bad);
  std::size_t const piece = data[1] % 32 + 1u;
  while (!bytes.empty()) {
    bad.say(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    // In mode 4 two such clients share the table, and one of them goes in between.
    if (mode == 4 && good) good->say(bytes.substr(0, piece));
    if (mode == 4 && bytes.size() < 64) good.reset();
  }
  if (!good || mode == 4) return 0;
  std::string ping;
  encode({verb::ping, {}, {}, 5}, numbering::current, ping);
  std::string answer;
  put_word(answer, 5);
  if (good->say(ping) != answer) std::abort();
  return 0;
}
