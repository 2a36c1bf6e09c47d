// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "group/handshake.hpp"

namespace hocket::host {

/// Who this process is: what it proves to its peers, and expects them to prove.
struct identity {
  std::string job;
  std::uint64_t epoch = 0;
  int rank = 0;
  int size = 1;
  std::array<std::byte, 32> secret{};
};

/// The caller's side of a handshake on a new connection. Sans-IO.
class caller_greeting {
 public:
  caller_greeting(identity const& me, int peer);
  /// Takes bytes of the answerer; adds what is to be said to `out`. Throws `errc::corrupt` or
  /// `errc::refused` if the peer is not the right one.
  void receive(std::string_view bytes, std::string& out);
  [[nodiscard]] std::string const& hello() const noexcept { return hello_; }
  [[nodiscard]] bool is_done() const noexcept { return done_; }

 private:
  identity const& me_;
  int const peer_;
  std::string hello_;
  std::string came_;
  bool proved_ = false;
  bool done_ = false;
};

/// The answerer's side.
class answerer_greeting {
 public:
  explicit answerer_greeting(identity const& me) : me_(me) {}
  /// Takes bytes of the caller and returns those that come after the handshake.
  [[nodiscard]] std::string receive(std::string_view bytes, std::string& out);
  [[nodiscard]] bool is_done() const noexcept { return done_; }
  /// The caller's rank, once known.
  [[nodiscard]] int peer() const noexcept { return peer_; }

 private:
  identity const& me_;
  std::string came_;
  handshake::proof expected_{};
  bool challenged_ = false;
  bool done_ = false;
  int peer_ = -1;
};

}  // namespace hocket::host
