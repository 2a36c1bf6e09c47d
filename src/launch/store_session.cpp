// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "launch/store_session.hpp"

#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <hocket/error.hpp>
#include <utility>

namespace hocket::rdzv {
namespace {

constexpr std::size_t backlog_max = 64 * 1024;        // bytes that wait behind a parked request
constexpr std::size_t output_high = 1024 * 1024;      // no further request is begun above it
constexpr std::size_t output_max = 64 * 1024 * 1024;  // of one multi_get

constexpr std::uint8_t ready = 0;
constexpr std::uint8_t not_ready = 1;
constexpr std::uint8_t cancelled = 1;

}  // namespace

bool store_session::may_go_on() const noexcept {
  return !is_parked_ && fault_.empty() && output_.size() < output_high;
}

bool store_session::wants_bytes() const noexcept {
  return fault_.empty() && (is_parked_ ? backlog_.size() < backlog_max : output_.empty());
}

bool store_session::is_at_rest() const noexcept {
  if (stage_ != stage::serving || !output_.empty()) return false;
  return is_parked_ || (backlog_.empty() && decoder_->is_between());
}

void store_session::receive(std::string_view bytes) noexcept {
  try {
    backlog_ += bytes;
  } catch (std::exception const& e) {
    fault_ = e.what();
  }
  run();
}

void store_session::sent(std::size_t bytes) noexcept {
  output_.erase(0, bytes);
  if (output_.empty()) run();
}

void store_session::keys_came() noexcept {
  is_parked_ = false;
  try {
    answer_parked(std::exchange(parked_, {}));
  } catch (std::exception const& e) {
    fault_ = e.what();
  }
  run();
  owner_.session_resumed();
}

void store_session::run() noexcept {
  if (!fault_.empty()) return;
  std::string_view left = backlog_;
  try {
    step(left);
  } catch (std::exception const& e) {
    fault_ = e.what();
  }
  backlog_.erase(0, backlog_.size() - left.size());
}

void store_session::step(std::string_view& left) {
  if (stage_ == stage::greeting && !greet(left)) return;
  if (stage_ == stage::proving && !check_proof(left)) return;
  if (stage_ == stage::serving) serve(left);
}

// True once the client has said all that it begins with.
bool store_session::greet(std::string_view& left) {
  if (left.empty()) return false;
  if (static_cast<std::uint8_t>(left.front()) != handshake::first_byte) return greet_plain(left);
  auto const size = handshake::hello_size(left);
  if (!size || left.size() < *size) return false;
  challenge(left.substr(0, *size));
  left.remove_prefix(*size);
  return true;
}

bool store_session::greet_plain(std::string_view& left) {
  constexpr std::size_t mark = 1 + sizeof validate_magic;  // no text of an old set is so long
  bool const may_be_current = left.front() == static_cast<char>(verb::validate);
  if (may_be_current && left.size() < mark) return false;
  std::uint32_t magic = 0;
  if (may_be_current) std::memcpy(&magic, left.data() + 1, sizeof magic);
  bool const is_current = magic == validate_magic;
  if (!rules_.is_open) {
    if (is_current) put_word(output_, secret_wanted);
    throw error(
        errc::unsupported,
        "it does not begin with Hocket's hello, and plain TCPStore clients are not admitted");
  }
  if (is_current) left.remove_prefix(mark);
  decoder_.emplace(is_current ? numbering::current : numbering::from_zero);
  peer_ = "a TCPStore client";
  stage_ = stage::serving;
  return true;
}

void store_session::challenge(std::string_view hello_sent) {
  auto const hello = handshake::decode_hello(hello_sent);
  if (hello.from != handshake::nobody) peer_ = fmt::format("rank {}", hello.from);
  handshake::challenge c;
  c.epoch = rules_.epoch.value_or(hello.epoch);
  std::string why;
  if (hello.purpose != handshake::role::store || hello.to != handshake::nobody) {
    c.answer = handshake::verdict::other_rank;
    why = fmt::format("{} looks for rank {}, this is the store", peer_, hello.to);
  } else if (hello.job != rules_.job) {
    c.answer = handshake::verdict::other_job;
    why =
        fmt::format("{} is of job \"{}\", this store serves \"{}\"", peer_, hello.job, rules_.job);
  } else if (hello.epoch != c.epoch) {
    c.answer = handshake::verdict::other_epoch;
    why = fmt::format("{} comes in epoch {}, this store serves epoch {}", peer_, hello.epoch,
                      c.epoch);
  } else {
    c.random = handshake::make_nonce();
    auto const secret = rules_.secret.bytes();
    c.mine = handshake::prove(handshake::side::answerer, secret, hello_sent, c.random);
    expected_ = handshake::prove(handshake::side::caller, secret, hello_sent, c.random);
  }
  output_ += handshake::encode(c);
  if (!why.empty()) throw error(errc::mismatch, why);
  stage_ = stage::proving;
}

bool store_session::check_proof(std::string_view& left) {
  if (left.size() < handshake::proof_bytes) return false;
  if (!handshake::is_equal(expected_, left.substr(0, handshake::proof_bytes)))
    throw error(errc::mismatch, peer_ + " does not have the secret of this job");
  left.remove_prefix(handshake::proof_bytes);
  put_byte(output_, handshake::welcome);
  decoder_.emplace(numbering::current);
  stage_ = stage::serving;
  return true;
}

void store_session::serve(std::string_view& left) {
  for (;;) {
    while (may_go_on() && !left.empty()) {
      left = decoder_->feed(left);
      if (!decoder_->is_whole()) continue;
      ++served_;
      answer(decoder_->take());
    }
    // A parked client may only change its mind. The old numbering has no command for that.
    bool const gives_up =
        is_parked_ && !left.empty() && left.front() == static_cast<char>(verb::cancel_wait);
    if (!gives_up) return;
    left.remove_prefix(1);
    table_.withdraw(*this);
    is_parked_ = false;
    put_byte(output_, cancelled);
  }
}

void store_session::answer(request r) {
  switch (r.what) {
    case verb::validate:
      if (static_cast<std::uint32_t>(r.number) != validate_magic)
        throw error(errc::corrupt, fmt::format("validate with {:#x}", r.number));
      break;
    case verb::ping:
      put_word(output_, static_cast<std::uint32_t>(r.number));
      break;
    case verb::set:
      table_.set(r.keys[0], std::move(r.values[0]));
      break;
    case verb::multi_set:
      for (std::size_t i = 0; i < r.keys.size(); ++i) table_.set(r.keys[i], std::move(r.values[i]));
      break;
    case verb::append:
      if (auto const* const old = table_.find(r.keys[0]);
          old && old->size() + r.values[0].size() > value_bytes_max)
        throw error(errc::too_large,
                    fmt::format("append makes a value of {} bytes, at most {}",
                                old->size() + r.values[0].size(), value_bytes_max));
      table_.append(r.keys[0], r.values[0]);
      break;
    case verb::compare_set:
      put_text(output_, table_.compare_set(r.keys[0], r.values[0], r.values[1]));
      break;
    case verb::add:
      put_number(output_, table_.add(r.keys[0], r.number));
      break;
    case verb::check:
      put_byte(output_, table_.has_all(r.keys) ? ready : not_ready);
      break;
    case verb::count_keys:
      put_number(output_, static_cast<std::int64_t>(table_.size()));
      break;
    case verb::erase:
      put_number(output_, table_.erase(r.keys[0]) ? 1 : 0);
      break;
    case verb::cancel_wait:  // its wait has just ended: the client knows by this second answer
      put_byte(output_, cancelled);
      break;
    case verb::get:
    case verb::wait:
    case verb::multi_get:
      answer_parked(std::move(r));
      break;
  }
}

// Also after keys have come: one may have been erased since.
void store_session::answer_parked(request const& r) {
  if (!table_.has_all(r.keys)) {
    table_.park(*this, r.keys);
    parked_ = r;
    is_parked_ = true;
  } else if (r.what == verb::wait) {
    put_byte(output_, ready);
  } else {
    put_all(r);
  }
}

void store_session::put_all(request const& r) {
  std::size_t bytes = 0;
  for (auto const& key : r.keys) bytes += table_.find(key)->size();
  if (bytes > output_max)
    throw error(errc::too_large, fmt::format("{} keys hold {} bytes, at most {} are sent at once",
                                             r.keys.size(), bytes, output_max));
  for (auto const& key : r.keys) put_text(output_, *table_.find(key));
}

}  // namespace hocket::rdzv
