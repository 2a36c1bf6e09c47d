// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "program.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <random>
#include <utility>

#include "engine_under_test.hpp"
#include "reference.hpp"

namespace hocket::conformance {
namespace {

class drawing {
 public:
  explicit drawing(std::uint64_t seed) : draw_(mixed(seed, 0, 0)) {}
  int below(int n) { return static_cast<int>(draw_() % static_cast<std::uint64_t>(n)); }
  std::mt19937_64& generator() { return draw_; }

 private:
  std::mt19937_64 draw_;
};

std::vector<int> some_ranks(drawing& d, int ranks) {
  std::vector<int> all;
  for (int r = 0; r < ranks; ++r) all.push_back(r);
  std::shuffle(all.begin(), all.end(), d.generator());
  all.resize(static_cast<std::size_t>(1 + d.below(ranks)));
  return all;
}

}  // namespace

program make_program(std::uint64_t seed) {
  drawing d(seed);
  program p;
  p.seed = seed;
  p.ranks = rank_counts[static_cast<std::size_t>(d.below(static_cast<int>(rank_counts.size())))];
  int const groups = 1 + d.below(3);
  std::uint64_t number = 1000 * seed;
  for (int g = 0; g < groups; ++g) {
    group_program made;
    made.members = some_ranks(d, p.ranks);
    made.channels.resize(static_cast<std::size_t>(1 + d.below(3)));
    for (auto& c : made.channels)
      for (int left = 1 + d.below(6); left > 0; --left) {
        step s;
        // Half of the steps are operations of the sweeps, of which there are most.
        s.what = d.below(2) == 0 ? action::operation : static_cast<action>(d.below(action_count));
        s.number = ++number;
        c.steps.push_back(s);
      }
    p.groups.push_back(std::move(made));
  }
  return p;
}

std::vector<letter> letters_of(step const& s, int members) {
  static auto const sizes = message_sizes();
  drawing d(s.number);
  std::vector<letter> all;
  for (int left = d.below(4 * members) + 1; left > 0; --left) {
    letter l;
    l.from = d.below(members);
    l.to = d.below(members);
    l.tag = static_cast<std::uint64_t>(d.below(3));
    bool const is_large = d.below(8) == 0;
    l.bytes = is_large ? sizes[static_cast<std::size_t>(d.below(static_cast<int>(sizes.size())))]
                       : d.below(300);
    l.data = s.number * 100 + static_cast<std::uint64_t>(left);
    all.push_back(l);
  }
  return all;
}

std::vector<letter> taken_by(int member, std::vector<letter> const& all, std::uint64_t order) {
  std::map<std::pair<int, std::uint64_t>, std::deque<letter>> boxes;
  std::vector<std::pair<int, std::uint64_t>> turns;  // one for each letter
  for (auto const& l : all) {
    if (l.to != member) continue;
    boxes[{l.from, l.tag}].push_back(l);
    turns.emplace_back(l.from, l.tag);
  }
  std::mt19937_64 draw(order);
  std::shuffle(turns.begin(), turns.end(), draw);
  std::vector<letter> taken;
  for (auto const& t : turns) {
    taken.push_back(boxes[t].front());
    boxes[t].pop_front();
  }
  return taken;
}

}  // namespace hocket::conformance
