// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <sys/types.h>

#include <hocket/async/detail/port.hpp>
#include <hocket/launch/tcp_store.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "group/handshake.hpp"
#include "launch/store_lane.hpp"

namespace hocket::rdzv {

/// What is behind a `tcp_store`: calls from any thread, worked off on its strand by lanes. Calls
/// that may wait for others have a lane for themselves; the rest share the main one.
class store_client final : public std::enable_shared_from_this<store_client> {
 public:
  store_client(boost::asio::any_io_executor const& ex, tcp_store_options const& options);
  ~store_client();

  // -- from any thread
  template <class T>
  work<T> call(char const* name, request r, typename store_op<T>::maker make,
               op_options const& options, std::source_location site,
               std::shared_ptr<void> extra = nullptr);
  void close() noexcept;
  /// A call's wait was ended.
  void call_ended(store_call& call) noexcept;
  [[nodiscard]] std::string expiry_of(request const& r) noexcept;
  [[nodiscard]] std::string const& address() const noexcept { return address_; }
  /// False in a forked child.
  [[nodiscard]] bool is_own_process() const noexcept;

  // -- for its lanes
  [[nodiscard]] strand const& own_strand() const noexcept { return strand_; }
  [[nodiscard]] tcp_store_options const& options() const noexcept { return options_; }
  [[nodiscard]] std::optional<dialect> spoken() const noexcept { return dialect_; }
  void speak(dialect d);
  /// What connecting is at, and what has hindered it, for the story of deadlines.
  void note_phase(std::string phase) noexcept;
  void note_trouble(std::string trouble) noexcept;
  void note_over() noexcept;
  /// All calls, present and later, fail.
  void lose(errc code, std::string why) noexcept;
  /// What the server's challenge makes of the hello: the proof that it wants, or nothing; then the
  /// client is lost.
  [[nodiscard]] std::optional<handshake::proof> check_challenge(handshake::hello const& said,
                                                                std::string_view sent,
                                                                std::string_view answer);
  [[nodiscard]] std::string story_of(std::exception_ptr const& e) const;
  /// A lane has no calls any more.
  void lane_rests();
  [[nodiscard]] bool is_lost() const noexcept { return loss_.has_value(); }

 private:
  struct loss {
    errc code;
    std::string why;
  };
  void submit(call_ptr call);
  void take_incoming();
  void place(call_ptr call);
  [[nodiscard]] std::string refusal_of(request const& r, op_options const& options) const;

  boost::asio::any_io_executor const executor_;
  detail::port_ptr const home_;
  tcp_store_options const options_;
  runtime_handle const runtime_;
  std::string const address_;
  pid_t const process_;
  strand strand_;
  std::optional<dialect> dialect_;
  std::optional<loss> loss_;
  std::vector<std::shared_ptr<store_lane>> lanes_;  // the first one is the main one

  std::mutex mutex_;
  std::vector<call_ptr> incoming_;
  std::string phase_;
  std::string trouble_;
};

}  // namespace hocket::rdzv
