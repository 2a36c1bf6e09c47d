// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "sleeper.hpp"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <hocket/error.hpp>
#include <thread>

namespace hocket::detail {

void sleeper::open() {
  event_ = unique_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event_)
    throw error(boost::system::error_code(errno, boost::system::system_category()),
                "the progress thread needs an eventfd to sleep on");
  waited_.push_back({event_.get(), POLLIN, 0});
}

void sleeper::wake() noexcept {
  if (state_.exchange(woken, std::memory_order_acq_rel) != sleeping) return;
  ::eventfd_write(event_.get(), 1);
}

bool sleeper::take() noexcept { return state_.exchange(awake, std::memory_order_acq_rel) == woken; }

void sleeper::sleep(std::optional<clock::duration> limit) noexcept {
  using namespace std::chrono_literals;
  auto expected = awake;
  if (!state_.compare_exchange_strong(expected, sleeping, std::memory_order_acq_rel)) {
    take();
    return;
  }
  timespec time{};
  if (limit) {
    auto const away = std::clamp<clock::duration>(*limit, 0ns, 1h);
    auto const seconds = std::chrono::duration_cast<std::chrono::seconds>(away);
    time.tv_sec = seconds.count();
    time.tv_nsec = (away - seconds).count();
  }
  int const ready = ::ppoll(waited_.data(), waited_.size(), limit ? &time : nullptr, nullptr);
  // More descriptors than RLIMIT_NOFILE allows, or no memory: look after the sources by the clock.
  if (ready < 0 && errno != EINTR) std::this_thread::sleep_for(1ms);
  take();
  if (ready > 0 && waited_.front().revents != 0) {
    eventfd_t ignored = 0;
    ::eventfd_read(event_.get(), &ignored);
  }
}

}  // namespace hocket::detail
