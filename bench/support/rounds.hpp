// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

/// Interleaved measurement: every competitor once a round, medians over the rounds, so that a busy
/// moment of the machine hits all of them.
namespace hocket::bench {

class competitors {
 public:
  /// `run` does the whole thing `repeats` times. The first one added is the yardstick.
  void add(std::string name, int repeats, std::function<void()> run) {
    entries_.push_back({std::move(name), repeats, std::move(run), {}});
  }

  /// Runs all, `rounds` times after one warm-up, and prints a table: time and ratio to the
  /// yardstick.
  void print(char const* question, int rounds = 5) {
    for (int round = -1; round < rounds; ++round) {
      for (auto& e : entries_) {
        auto const start = std::chrono::steady_clock::now();
        e.run();
        std::chrono::duration<double, std::nano> const took =
            std::chrono::steady_clock::now() - start;
        if (round >= 0) e.ns.push_back(took.count() / e.repeats);
      }
    }
    std::printf("%s\n", question);
    double const yardstick = median(entries_.front().ns);
    for (auto const& e : entries_) {
      double const ns = median(e.ns);
      std::printf("  %-58s %12.1f ns   %6.2f x\n", e.name.c_str(), ns, ns / yardstick);
    }
    entries_.clear();
  }

 private:
  struct entry {
    std::string name;
    int repeats;
    std::function<void()> run;
    std::vector<double> ns;
  };
  static double median(std::vector<double> v) {
    std::ranges::sort(v);
    return v[v.size() / 2];
  }
  std::vector<entry> entries_;
};

/// Keeps the compiler from dropping a computation whose result nobody reads.
template <class T>
inline void keep(T const& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

}  // namespace hocket::bench
