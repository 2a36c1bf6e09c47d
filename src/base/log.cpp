// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <hocket/log.hpp>

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace hocket {
namespace {

constexpr std::array<std::string_view, 5> names{"debug", "info", "warning", "error", "off"};

void to_stderr(log_level level, std::string_view line) {
  auto const text = fmt::format("hocket {}: {}\n", names[static_cast<std::size_t>(level)], line);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

log_level from_environment() noexcept {
  char const* const value = std::getenv("HOCKET_LOG");
  if (value == nullptr) return log_level::warning;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == value) return static_cast<log_level>(i);
  std::fprintf(stderr,
               "hocket warning: HOCKET_LOG=%s is not a level (debug, info, warning, error, off); "
               "using warning\n",
               value);
  return log_level::warning;
}

struct state {
  std::atomic<log_level> threshold{from_environment()};
  std::mutex mutex;
  log_sink sink;
};

state& the_state() {
  static auto* const s = new state;  // lives as long as the last thread that may log
  return *s;
}

}  // namespace

log_level log_threshold() noexcept {
  return the_state().threshold.load(std::memory_order_relaxed);
}

void set_log_threshold(log_level level) noexcept {
  the_state().threshold.store(level, std::memory_order_relaxed);
}

void set_log_sink(log_sink sink) {
  auto& s = the_state();
  std::lock_guard const lock(s.mutex);
  s.sink = std::move(sink);
}

void log(log_level level, std::string_view line) noexcept {
  if (!log_enabled(level) || level == log_level::off) return;
  auto& s = the_state();
  try {
    std::lock_guard const lock(s.mutex);
    s.sink ? s.sink(level, line) : to_stderr(level, line);
  } catch (...) {  // a sink that fails must not end the program it reports on
  }
}

bool detail::give_to_sink(log_level level, std::string_view lines) noexcept {
  auto& s = the_state();
  try {
    std::lock_guard const lock(s.mutex);
    if (!s.sink) return false;
    for (;;) {
      auto const end = lines.find('\n');
      s.sink(level, lines.substr(0, end));
      if (end == std::string_view::npos) break;
      lines.remove_prefix(end + 1);
    }
  } catch (...) {  // a sink that fails must not end the program it reports on
  }
  return true;
}

}  // namespace hocket
