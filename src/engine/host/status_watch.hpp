// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <functional>

#include "io/poller.hpp"

namespace hocket::host {

/// Hears SIGUSR1 in a poller: `asked` is called by the thread that polls, for each signal or
/// several of them. As long as any exists, the process has a handler for the signal, unless it had
/// one (or ignored it) when the first was made.
class status_watch final : public io::watcher {
 public:
  status_watch(io::poller& p, std::function<void()> asked);
  ~status_watch();
  status_watch(status_watch const&) = delete;
  status_watch& operator=(status_watch const&) = delete;
  void ready() noexcept override;

 private:
  io::poller& poller_;
  std::function<void()> const asked_;
  io::unique_fd const event_;
};

}  // namespace hocket::host
