// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// How two processes of one job recognise each other on a new connection: each proves, by an
/// HMAC-SHA256 over everything both have said, that it holds the job's secret. Nothing is encrypted
/// afterwards. Three messages and a final byte, native byte order:
///
///   caller  -> answerer   hello:     who calls whom, for which job and epoch, a nonce
///   caller  <- answerer   challenge: a verdict, another nonce, the answerer's proof
///   caller  -> answerer   proof
///   caller  <- answerer   `welcome`
///
/// Proofs of the two sides differ by a label, so neither can be reflected, and contain both nonces,
/// so none can be used again.
namespace hocket::handshake {

using nonce = std::array<std::byte, 32>;
using proof = std::array<std::byte, 32>;
using key = std::span<std::byte const, 32>;

/// What a connection is for.
enum class role : std::uint8_t { store = 1, peer = 2 };

/// The first byte of a hello; no command of a TCPStore has this number.
inline constexpr std::uint8_t first_byte = 0xF7;
inline constexpr std::uint8_t welcome = 0;
inline constexpr std::size_t job_bytes_max = 256;
inline constexpr std::uint32_t nobody = 0xFFFFFFFF;  ///< the store, as a rank

struct hello {
  role purpose = role::store;
  std::string job;
  std::uint64_t epoch = 0;
  std::uint32_t from = nobody;
  std::uint32_t to = nobody;
  nonce random{};
};

enum class verdict : std::uint8_t { accepted = 0, other_job = 1, other_epoch = 2, other_rank = 3 };

struct challenge {
  verdict answer = verdict::accepted;
  std::uint64_t epoch = 0;  ///< the answerer's, for the caller's message
  nonce random{};
  proof mine{};
};

inline constexpr std::size_t hello_bytes_min = 64;  ///< and the job's name
inline constexpr std::size_t challenge_bytes = 88;
inline constexpr std::size_t proof_bytes = 32;

[[nodiscard]] nonce make_nonce();

[[nodiscard]] std::string encode(hello const& h);
[[nodiscard]] std::string encode(challenge const& c);
[[nodiscard]] std::string_view view(proof const& p) noexcept;

/// The length of the hello that begins with these bytes; nothing if it takes more of them to know.
/// `errc::corrupt` if they begin none, of this version at least.
[[nodiscard]] std::optional<std::size_t> hello_size(std::string_view bytes);
/// Whole messages. `errc::corrupt` if it is none.
[[nodiscard]] hello decode_hello(std::string_view bytes);
[[nodiscard]] challenge decode_challenge(std::string_view bytes);

enum class side { caller, answerer };

/// The proof of one side, from the hello as it was sent and the answerer's nonce.
[[nodiscard]] proof prove(side who, key secret, std::string_view hello_sent, nonce const& answer);
/// In a time that does not depend on where they differ.
[[nodiscard]] bool is_equal(proof const& mine, std::string_view theirs) noexcept;

}  // namespace hocket::handshake
