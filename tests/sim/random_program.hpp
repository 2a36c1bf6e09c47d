// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace hocket::sim {

/// What one operation of a random program does; equal on all ranks.
enum class action : std::uint8_t {
  gather,            // all_gather of parts of equal size
  gather_balanced,   // all_gather_v of parts that differ, some empty
  broadcast,
  scatter,           // where only the root knows the shape
  ring,              // a send to the next rank, a receive of unknown shape from the one before
  object,
  barrier,
  cancelled,         // one rank cancels its wait for a barrier
  late,              // one rank comes an hour later than the others' deadline
  disagreement,      // one rank broadcasts another dtype
};
constexpr int actions = 10;

struct step {
  action what{};
  int chosen = 0;           // the root, the late rank, the one that cancels or disagrees
  std::int64_t extent = 0;
  std::uint32_t number = 0;  // makes the data of each operation its own
};

/// A program: for each channel what its ranks do, in order. Made from a seed alone.
struct program {
  int ranks = 1;
  std::vector<std::vector<step>> channels;
};

inline program make_program(std::uint64_t seed) {
  std::mt19937_64 draw(seed * 0x9e3779b97f4a7c15u + 1);
  auto below = [&draw](int n) { return static_cast<int>(draw() % static_cast<std::uint64_t>(n)); };
  program p;
  p.ranks = 2 + below(4);
  p.channels.resize(static_cast<std::size_t>(1 + below(3)));
  std::uint32_t number = 0;
  for (auto& channel : p.channels) {
    int const length = 1 + below(8);
    for (int i = 0; i < length; ++i) {
      step s;
      s.what = static_cast<action>(below(actions));
      s.chosen = below(p.ranks);
      s.extent = below(9);
      s.number = number++;
      channel.push_back(s);
    }
  }
  return p;
}

}  // namespace hocket::sim
