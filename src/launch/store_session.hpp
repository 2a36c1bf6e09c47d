// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <hocket/launch/secret.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "group/handshake.hpp"
#include "launch/store_protocol.hpp"
#include "launch/store_table.hpp"

namespace hocket::rdzv {

/// Whom a server talks to.
struct admission {
  launch_secret secret;
  std::string job;
  std::optional<std::uint64_t> epoch;  ///< none: any
  bool is_open = false;                ///< plain TCPStore clients, too
};

/// The server's end of one connection, without I/O: bytes in, bytes out. Recognises the client by
/// its first bytes: Hocket's hello, or a plain TCPStore of either numbering. A get or wait of
/// absent keys parks the session; what the client sends meanwhile waits, but cancel_wait.
class store_session final : private key_waiter {
 public:
  class owner {
   public:
    virtual ~owner() = default;
    /// The session has been parked and is no more: there may be output, or a fault.
    virtual void session_resumed() noexcept = 0;
  };

  store_session(store_table& table, admission const& rules, owner& o)
      : table_(table), rules_(rules), owner_(o) {}
  ~store_session() override { table_.withdraw(*this); }
  store_session(store_session const&) = delete;
  store_session& operator=(store_session const&) = delete;

  /// Takes bytes of the client. Call `store_table::settle` afterwards.
  void receive(std::string_view bytes) noexcept;
  /// False while it has as much to do as it will remember.
  [[nodiscard]] bool wants_bytes() const noexcept;
  /// What is to be sent.
  [[nodiscard]] std::string_view output() const noexcept { return output_; }
  /// So much of it has been sent; goes on with what has waited for that.
  void sent(std::size_t bytes) noexcept;

  /// Why the client must be dropped; empty: it need not. What is left of `output` may be sent.
  [[nodiscard]] std::string const& fault() const noexcept { return fault_; }
  /// True once the client is known to belong here.
  [[nodiscard]] bool is_greeted() const noexcept { return stage_ == stage::serving; }
  /// True if it owes no answer and awaits no more bytes of a message; a parked one is at rest.
  [[nodiscard]] bool is_at_rest() const noexcept;
  /// How many requests it has begun to answer.
  [[nodiscard]] std::uint64_t served() const noexcept { return served_; }
  /// "rank 3", or "a TCPStore client", for messages.
  [[nodiscard]] std::string const& peer() const noexcept { return peer_; }

 private:
  enum class stage : std::uint8_t { greeting, proving, serving };

  void keys_came() noexcept override;
  void run() noexcept;
  void step(std::string_view& left);
  [[nodiscard]] bool greet(std::string_view& left);
  [[nodiscard]] bool greet_plain(std::string_view& left);
  void challenge(std::string_view hello_sent);
  [[nodiscard]] bool check_proof(std::string_view& left);
  void serve(std::string_view& left);
  void answer(request r);
  void answer_parked(request const& r);
  void put_all(request const& r);
  [[nodiscard]] bool may_go_on() const noexcept;

  store_table& table_;
  admission const& rules_;
  owner& owner_;
  stage stage_ = stage::greeting;
  bool is_parked_ = false;
  std::uint64_t served_ = 0;
  std::string backlog_;
  std::string output_;
  std::string fault_;
  std::string peer_ = "a client";
  handshake::proof expected_{};
  std::optional<request_decoder> decoder_;
  request parked_;
};

}  // namespace hocket::rdzv
