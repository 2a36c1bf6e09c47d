// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "standard_streams.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <hocket/error.hpp>

namespace embed {
namespace {

std::atomic<int> signal_that_came = 0;
static_assert(std::atomic<int>::is_always_lock_free);  // a handler may store nothing else

[[noreturn]] void refuse(int number, std::string_view what) {
  boost::system::error_code const code(number, boost::system::system_category());
  throw hocket::error(code, fmt::format("{}: {}", what, code.message()));
}

}  // namespace

void open_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDONLY) != fd)
      refuse(errno, "cannot open /dev/null");
}

void write_output(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
    refuse(errno, "the output cannot be written");
}

void flush_output() {
  if (std::fflush(stdout) != 0) refuse(errno, "the output cannot be written");
}

void complain(std::string_view text) noexcept { std::fwrite(text.data(), 1, text.size(), stderr); }

void remember_signals() noexcept {
  for (int const number : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    ::sigaction(number, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    action.sa_handler = [](int came) { signal_that_came = came; };
    // a write that it interrupts goes on
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    ::sigaction(number, &action, nullptr);
  }
}

int remembered_signal() noexcept { return signal_that_came; }

}  // namespace embed
