// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "io/countdown.hpp"

#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <hocket/error.hpp>

#include "io/transfer.hpp"

namespace hocket::io {

countdown::countdown(poller& p, std::function<void()> over)
    : poller_(p),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)),
      over_(std::move(over)) {
  if (!timer_) throw error(system_code(errno), "timerfd_create: no timer to wait with");
}

countdown::~countdown() { stop(); }

void countdown::start(std::chrono::nanoseconds after) {
  using namespace std::chrono_literals;
  auto const wait = std::max<std::chrono::nanoseconds>(after, 1ns);  // 0 would disarm it
  auto const seconds = std::chrono::duration_cast<std::chrono::seconds>(wait);
  itimerspec time{};
  time.it_value.tv_sec = seconds.count();
  time.it_value.tv_nsec = (wait - seconds).count();
  ::timerfd_settime(timer_.get(), 0, &time, nullptr);
  if (runs_) return;
  poller_.watch(timer_.get(), readiness::readable, *this);
  runs_ = true;
}

void countdown::ready() noexcept {
  std::uint64_t expirations = 0;
  if (::read(timer_.get(), &expirations, sizeof expirations) < 0) return;  // started anew
  stop();
  auto const over = over_;  // which may destroy this object
  over();
}

void countdown::stop() noexcept {
  if (runs_) poller_.unwatch(*this);
  runs_ = false;
}

}  // namespace hocket::io
