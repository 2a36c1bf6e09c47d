// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <functional>

#include "io/address.hpp"
#include "io/countdown.hpp"
#include "io/poller.hpp"

namespace hocket::io {

/// Accepts connections while it lives. Where the process has no descriptor or the system no memory
/// left it pauses for a moment: those who wait stay in the kernel's queue.
class listener final : private watcher {
 public:
  /// Gets a tuned socket that does not block, and where its peer is (no address for a Unix socket
  /// that is not bound). Must not destroy the listener.
  using accepted = std::function<void(unique_fd socket, address const& peer)>;

  /// Port 0 lets the kernel choose. Throws hocket::error with the address and the system's code.
  listener(poller& p, address const& where, accepted on_accept);
  ~listener();
  listener(listener const&) = delete;
  listener& operator=(listener const&) = delete;

  /// Where it listens, with the port the kernel chose.
  [[nodiscard]] address const& where() const noexcept { return where_; }

 private:
  void ready() noexcept override;
  void pause(int error) noexcept;
  void resume() noexcept;

  poller& poller_;
  unique_fd socket_;
  address where_;
  accepted on_accept_;
  countdown pause_;
  bool watches_ = false;
  bool has_complained_ = false;
};

}  // namespace hocket::io
