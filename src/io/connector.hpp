// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/system/error_code.hpp>
#include <functional>
#include <optional>

#include "io/address.hpp"
#include "io/countdown.hpp"
#include "io/poller.hpp"

namespace hocket::io {

/// One attempt to connect, without a limit of its own but the system's. Destroying it gives up.
class connector final : private watcher {
 public:
  /// Gets a tuned socket that does not block, or the system's code. Called once, from the poller,
  /// never from the constructor; may destroy the connector.
  using connected = std::function<void(boost::system::error_code, unique_fd socket)>;

  /// Throws hocket::error where the attempt cannot even start: no descriptor left.
  connector(poller& p, address const& to, connected on_end);
  ~connector();
  connector(connector const&) = delete;
  connector& operator=(connector const&) = delete;

 private:
  void attempt();
  void ready() noexcept override;
  void attempt_again() noexcept;
  void finish(boost::system::error_code code) noexcept;

  poller& poller_;
  address to_;
  connected on_end_;
  unique_fd socket_;
  int error_ = 0;  // of connect, to be told from the poller
  bool watches_ = false;
  std::optional<countdown> retry_;
};

}  // namespace hocket::io
