// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <hocket/error.hpp>
#include <hocket/group/detail/world_core.hpp>
#include <hocket/launch/print.hpp>
#include <hocket/log.hpp>

#include "parallel/parallel_core.hpp"

namespace hocket {
namespace {

bool prints(world_rank rank) noexcept { return rank.value() == 0; }

// True where no rank is known: a program that has not joined a world is alone.
bool only_rank_prints() {
  try {
    return prints(detail::only_world().rank());
  } catch (error const& e) {
    if (e.code() != errc::not_initialized) throw;
    return true;
  }
}

}  // namespace

void print_per_rank(std::string_view message, std::FILE* to) {
  if (to == nullptr && detail::give_to_sink(log_level::info, message)) return;
  using namespace std::chrono;
  auto const now = system_clock::now();
  std::time_t const seconds = system_clock::to_time_t(now);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  auto const milliseconds =
      duration_cast<std::chrono::milliseconds>(now - system_clock::from_time_t(seconds));
  auto const line =
      fmt::format("[{:%Y-%m-%d %H:%M:%S},{:03} - INFO] {}\n", parts, milliseconds.count(), message);
  std::fwrite(line.data(), 1, line.size(), to != nullptr ? to : stderr);
}

void print_rank_0(world const& w, std::string_view message, std::FILE* to) {
  if (prints(w.rank())) print_per_rank(message, to);
}

void print_rank_0(ParallelState const& s, std::string_view message, std::FILE* to) {
  // The rank does not change when the state ends.
  auto const& core = s.core_or_null();
  if (!core || prints(core->plan.rank)) print_per_rank(message, to);
}

void print_rank_0(std::string_view message, std::FILE* to) {
  if (only_rank_prints()) print_per_rank(message, to);
}

}  // namespace hocket
