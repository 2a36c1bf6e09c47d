// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "greeting.hpp"

#include <fmt/format.h>

#include <hocket/error.hpp>

namespace hocket::host {

using handshake::verdict;

caller_greeting::caller_greeting(identity const& me, int peer) : me_(me), peer_(peer) {
  handshake::hello h;
  h.purpose = handshake::role::peer;
  h.job = me.job;
  h.epoch = me.epoch;
  h.from = static_cast<std::uint32_t>(me.rank);
  h.to = static_cast<std::uint32_t>(peer);
  h.random = handshake::make_nonce();
  hello_ = encode(h);
}

void caller_greeting::receive(std::string_view bytes, std::string& out) {
  came_ += bytes;
  if (!proved_) {
    if (came_.size() < handshake::challenge_bytes) return;
    auto const c =
        handshake::decode_challenge(std::string_view(came_).substr(0, handshake::challenge_bytes));
    came_.erase(0, handshake::challenge_bytes);
    switch (c.answer) {
      case verdict::accepted:
        break;
      case verdict::other_job:
        throw error(errc::mismatch, fmt::format("the process at the address of rank {} belongs to "
                                                "another job than \"{}\"",
                                                peer_, me_.job));
      case verdict::other_epoch:
        throw error(errc::mismatch,
                    fmt::format("rank {} is in epoch {} of the job, this rank in {}", peer_,
                                c.epoch, me_.epoch));
      case verdict::other_rank:
        throw error(errc::mismatch,
                    fmt::format("the process at the address of rank {} is another rank", peer_));
    }
    auto const theirs = handshake::prove(handshake::side::answerer, me_.secret, hello_, c.random);
    if (!handshake::is_equal(theirs, handshake::view(c.mine)))
      throw error(
          errc::mismatch,
          fmt::format("the process at the address of rank {} does not know the job's secret",
                      peer_));
    out += handshake::view(handshake::prove(handshake::side::caller, me_.secret, hello_, c.random));
    proved_ = true;
  }
  if (came_.empty()) return;
  if (static_cast<std::uint8_t>(came_[0]) != handshake::welcome)
    throw error(errc::mismatch, fmt::format("rank {} does not accept this rank's proof", peer_));
  done_ = true;
}

std::string answerer_greeting::receive(std::string_view bytes, std::string& out) {
  came_ += bytes;
  if (!challenged_) {
    auto const size = handshake::hello_size(came_);
    if (!size || came_.size() < *size) return {};
    auto const sent = came_.substr(0, *size);
    came_.erase(0, *size);
    auto const h = handshake::decode_hello(sent);
    handshake::challenge c;
    c.epoch = me_.epoch;
    c.random = handshake::make_nonce();
    bool const for_me = h.purpose == handshake::role::peer &&
                        h.to == static_cast<std::uint32_t>(me_.rank) &&
                        h.from < static_cast<std::uint32_t>(me_.size) && h.from != h.to;
    c.answer = h.job != me_.job       ? verdict::other_job
               : h.epoch != me_.epoch ? verdict::other_epoch
               : !for_me              ? verdict::other_rank
                                      : verdict::accepted;
    c.mine = handshake::prove(handshake::side::answerer, me_.secret, sent, c.random);
    expected_ = handshake::prove(handshake::side::caller, me_.secret, sent, c.random);
    out += encode(c);
    if (c.answer != verdict::accepted)
      throw error(errc::mismatch, fmt::format("a process of job \"{}\", epoch {}, calls as rank {} "
                                              "for rank {}",
                                              h.job, h.epoch, h.from, h.to));
    peer_ = static_cast<int>(h.from);
    challenged_ = true;
  }
  if (came_.size() < handshake::proof_bytes) return {};
  if (!handshake::is_equal(expected_, std::string_view(came_).substr(0, handshake::proof_bytes)))
    throw error(
        errc::mismatch,
        fmt::format("a process that calls itself rank {} does not know the job's secret", peer_));
  out += static_cast<char>(handshake::welcome);
  done_ = true;
  return came_.substr(handshake::proof_bytes);
}

}  // namespace hocket::host
