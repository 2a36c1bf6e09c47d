// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "group/handshake.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <hocket/detail/assert.hpp>
#include <hocket/error.hpp>
#include <type_traits>

namespace hocket::handshake {
namespace {

// First byte, name, version.
constexpr std::string_view magic("\xF7HOCKET\x01", 8);
constexpr std::string_view caller_label = "hocket/caller/1";
constexpr std::string_view answerer_label = "hocket/answer/1";

template <class T>
void put(std::string& to, T const& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  to.append(reinterpret_cast<char const*>(&value), sizeof value);
}

template <class T>
T take(std::string_view& from) {
  static_assert(std::is_trivially_copyable_v<T>);
  HOCKET_ASSERT(from.size() >= sizeof(T));
  T value;
  std::memcpy(&value, from.data(), sizeof value);
  from.remove_prefix(sizeof value);
  return value;
}

[[noreturn]] void refuse(std::string const& story) { throw error(errc::corrupt, story); }

void check_magic(std::string_view bytes) {
  auto const known = std::min(bytes.size(), magic.size());
  if (bytes.substr(0, known) == magic.substr(0, known)) return;
  if (known == magic.size() && bytes.substr(0, known - 1) == magic.substr(0, known - 1))
    refuse(fmt::format("a hello of version {}, this is version {}",
                       static_cast<unsigned>(static_cast<unsigned char>(bytes[known - 1])),
                       static_cast<unsigned>(magic.back())));
  refuse("the first bytes are no hello of Hocket");
}

constexpr std::size_t job_size_at = 10;

}  // namespace

nonce make_nonce() {
  nonce random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
    throw error(boost::system::error_code(errno, boost::system::system_category()), "getrandom");
  return random;
}

std::string encode(hello const& h) {
  if (h.job.size() > job_bytes_max)
    throw error(errc::invalid_argument, fmt::format("the job's name has {} bytes, at most {}",
                                                    h.job.size(), job_bytes_max));
  std::string all(magic);
  put(all, static_cast<std::uint8_t>(h.purpose));
  put(all, std::uint8_t{0});
  put(all, static_cast<std::uint16_t>(h.job.size()));
  put(all, h.from);
  put(all, h.to);
  put(all, std::uint32_t{0});
  put(all, h.epoch);
  put(all, h.random);
  HOCKET_ASSERT(all.size() == hello_bytes_min);
  return all + h.job;
}

std::string encode(challenge const& c) {
  std::string all(magic);
  put(all, static_cast<std::uint8_t>(c.answer));
  all.append(7, '\0');
  put(all, c.epoch);
  put(all, c.random);
  put(all, c.mine);
  HOCKET_ASSERT(all.size() == challenge_bytes);
  return all;
}

std::string_view view(proof const& p) noexcept {
  return {reinterpret_cast<char const*>(p.data()), p.size()};
}

std::optional<std::size_t> hello_size(std::string_view bytes) {
  check_magic(bytes);
  if (bytes.size() < job_size_at + sizeof(std::uint16_t)) return std::nullopt;
  auto rest = bytes.substr(job_size_at);
  auto const job = take<std::uint16_t>(rest);
  if (job > job_bytes_max)
    refuse(fmt::format("the job's name has {} bytes, at most {}", job, job_bytes_max));
  return hello_bytes_min + job;
}

hello decode_hello(std::string_view bytes) {
  auto const size = hello_size(bytes);
  if (size != bytes.size()) refuse(fmt::format("a hello of {} bytes", bytes.size()));
  bytes.remove_prefix(magic.size());
  hello h;
  auto const purpose = take<std::uint8_t>(bytes);
  if (purpose != static_cast<std::uint8_t>(role::store) &&
      purpose != static_cast<std::uint8_t>(role::peer))
    refuse(fmt::format("a hello for purpose {}", purpose));
  h.purpose = static_cast<role>(purpose);
  take<std::uint8_t>(bytes);
  take<std::uint16_t>(bytes);
  h.from = take<std::uint32_t>(bytes);
  h.to = take<std::uint32_t>(bytes);
  take<std::uint32_t>(bytes);
  h.epoch = take<std::uint64_t>(bytes);
  h.random = take<nonce>(bytes);
  h.job = std::string(bytes);
  return h;
}

challenge decode_challenge(std::string_view bytes) {
  check_magic(bytes);
  if (bytes.size() != challenge_bytes) refuse(fmt::format("a challenge of {} bytes", bytes.size()));
  bytes.remove_prefix(magic.size());
  challenge c;
  auto const answer = take<std::uint8_t>(bytes);
  if (answer > static_cast<std::uint8_t>(verdict::other_rank))
    refuse(fmt::format("a challenge with verdict {}", answer));
  c.answer = static_cast<verdict>(answer);
  bytes.remove_prefix(7);
  c.epoch = take<std::uint64_t>(bytes);
  c.random = take<nonce>(bytes);
  c.mine = take<proof>(bytes);
  return c;
}

proof prove(side who, key secret, std::string_view hello_sent, nonce const& answer) {
  std::string said(who == side::caller ? caller_label : answerer_label);
  said += hello_sent;
  put(said, answer);
  proof result{};
  unsigned size = 0;
  auto const* const done = ::HMAC(::EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                                  reinterpret_cast<unsigned char const*>(said.data()), said.size(),
                                  reinterpret_cast<unsigned char*>(result.data()), &size);
  if (done == nullptr || size != result.size())
    throw error(errc::unsupported, "OpenSSL computes no HMAC-SHA256 here");
  return result;
}

bool is_equal(proof const& mine, std::string_view theirs) noexcept {
  return theirs.size() == mine.size() &&
         ::CRYPTO_memcmp(mine.data(), theirs.data(), mine.size()) == 0;
}

}  // namespace hocket::handshake
