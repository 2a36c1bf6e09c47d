// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <hocket/async/clock.hpp>
#include <hocket/detail/sanitized.hpp>
#include <hocket/group/world.hpp>
#include <ranks.hpp>
#include <string>
#include <vector>

/// The one place that knows which engine the suite runs on. HOCKET_TEST_ENGINE names it; what else
/// the engine reads from its environment belongs to the name that reports print.
namespace hocket::conformance {

/// The numbers of ranks that an engine must be right with.
inline constexpr std::array rank_counts{1, 2, 3, 4, 5, 8};

/// Longer than any operation of a test that must end takes; an engine that hangs says so then.
inline constexpr auto hang = std::chrono::seconds(20);

[[nodiscard]] inline std::string setting(char const* name, char const* otherwise = "") {
  char const* const value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

/// As it was asked for: "local".
[[nodiscard]] inline std::string wanted_engine() { return setting("HOCKET_TEST_ENGINE", "local"); }

/// As it calls itself, and its settings: "host (HOCKET_IO=epoll)".
[[nodiscard]] inline std::string engine_of(world const& w) {
  std::string name(w.engine_name());
  std::string how;
  for (char const* const s : {"HOCKET_HOST_READ", "HOCKET_IO"})
    if (auto const value = setting(s); !value.empty())
      how += (how.empty() ? "" : " ") + (s + ("=" + value));
  return how.empty() ? name : name + " (" + how + ")";
}

/// Runs a program as `n` ranks on one thread. Ranks share nothing but constants and where the test
/// collects results: on another engine they could be processes.
inline void run(int n, test::rank_program const& rank_main) {
  test::run_ranks(n, rank_main, local_world_options().deadline(hang));
}
/// The same on three threads.
inline void run_on_threads(int n, test::rank_program const& rank_main) {
  test::run_ranks_on_pool(n, rank_main);
}
inline void run_everywhere(int n, test::rank_program const& rank_main) {
  run(n, rank_main);
  run_on_threads(n, rank_main);
}

/// Sizes in bytes at which an engine may change how it moves a message, and their neighbours.
[[nodiscard]] inline std::vector<std::int64_t> message_sizes() {
  std::vector<std::int64_t> sizes{0, 1, 2};
  for (std::int64_t const at :
       {std::int64_t{4} << 10, std::int64_t{8} << 10, std::int64_t{64} << 10,
        std::int64_t{256} << 10, std::int64_t{1} << 20})
    for (std::int64_t const off : {-1, 0, 1}) sizes.push_back(at + off);
  return sizes;
}

/// Of the data, or of one random program: HOCKET_SEED.
[[nodiscard]] inline std::uint64_t seed() {
  return std::strtoull(setting("HOCKET_SEED", "1").c_str(), nullptr, 10);
}

}  // namespace hocket::conformance
