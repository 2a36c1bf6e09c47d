// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "status_watch.hpp"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <utility>

namespace hocket::host {
namespace {

// Whom the handler tells: as many as a process has ranks, at most so many; -1: free.
constexpr std::size_t listeners_max = 64;

struct listener_table {
  listener_table() {
    for (auto& e : events) e = -1;
  }
  std::array<std::atomic<int>, listeners_max> events;
};

listener_table table;

extern "C" void tell_listeners(int) {
  int const before = errno;
  std::uint64_t const one = 1;
  for (auto const& e : table.events)
    if (int const fd = e.load(); fd >= 0) static_cast<void>(!::write(fd, &one, sizeof one));
  errno = before;
}

// Ends a process by default: nobody relies on that.
void handle_signal_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction now {};
    if (::sigaction(SIGUSR1, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return;
    struct sigaction own {};
    own.sa_handler = &tell_listeners;
    own.sa_flags = SA_RESTART;
    ::sigemptyset(&own.sa_mask);
    ::sigaction(SIGUSR1, &own, nullptr);
  });
}

}  // namespace

status_watch::status_watch(io::poller& p, std::function<void()> asked)
    : poller_(p), asked_(std::move(asked)), event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) return;
  poller_.watch(event_.get(), io::readiness::readable, *this);
  for (auto& e : table.events)
    if (int expected = -1; e.compare_exchange_strong(expected, event_.get())) break;
  handle_signal_once();
}

status_watch::~status_watch() {
  if (!event_) return;
  for (auto& e : table.events)
    if (int expected = event_.get(); e.compare_exchange_strong(expected, -1)) break;
  poller_.unwatch(*this);
}

void status_watch::ready() noexcept {
  std::uint64_t count = 0;
  if (::read(event_.get(), &count, sizeof count) > 0) asked_();
}

}  // namespace hocket::host
