// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <poll.h>

#include <atomic>
#include <hocket/async/clock.hpp>
#include <optional>
#include <vector>

#include "base/unique_fd.hpp"

namespace hocket::detail {

/// Where the one progress thread sleeps until it is woken, a descriptor is readable, or time is up.
///
/// Why no wake-up is lost: every change of `state_` is a read-modify-write, so all changes form one
/// chain in which each acquires what all earlier ones released. A waker publishes its work, then
/// turns the state to `woken`. Either the thread takes that away later (`take`, or the failed step
/// to `sleeping`), and then does a turn that sees the work; or the waker replaced `sleeping`, and
/// then it alone writes to the eventfd. The thread may have left ppoll for another reason by then:
/// the eventfd ends its next sleep at once, which costs one turn in vain.
class sleeper {
 public:
  /// Opens the eventfd; throws hocket::error where the process has no descriptor left.
  void open();
  /// Ends the thread's sleep, or the next one. Any thread; a system call only if it sleeps.
  void wake() noexcept;
  /// True if the thread was woken since the last call. The thread only.
  bool take() noexcept;
  /// The descriptors to wait for besides; each readable one ends the sleep. The thread only.
  void clear() noexcept { waited_.resize(1); }
  void wait_for(int fd) { waited_.push_back({fd, POLLIN, 0}); }
  /// Returns when something of the above happens; at once if the thread has been woken. The thread
  /// only.
  void sleep(std::optional<clock::duration> limit) noexcept;

 private:
  enum state : int { awake, woken, sleeping };

  std::atomic<state> state_{awake};
  unique_fd event_;
  std::vector<pollfd> waited_;
};

}  // namespace hocket::detail
