// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <vector>

namespace hocket::conformance {

/// What a step of a random program is.
enum class action : std::uint8_t {
  operation,     ///< one of the collectives or messages of the sweeps
  mail,          ///< many messages between random members, taken in another order than sent
  object,        ///< strings of unequal sizes, gathered
  cancelled,     ///< a gather whose wait one member cancels
  withdrawn,     ///< a receive that one member takes back
  disagreement,  ///< a broadcast of which one member gives another dtype
};
inline constexpr int action_count = 6;

/// Equal on all ranks; everything else in it is drawn from its number.
struct step {
  action what{};
  std::uint64_t number = 0;
};

/// The steps of one channel of one group, in order.
struct channel_program {
  std::vector<step> steps;
};
struct group_program {
  std::vector<int> members;
  std::vector<channel_program> channels;
};

/// What all ranks do, made from a seed alone. The channels of a rank run side by side.
struct program {
  std::uint64_t seed = 0;
  int ranks = 1;
  std::vector<group_program> groups;
};
[[nodiscard]] program make_program(std::uint64_t seed);

/// The one-process model of mail: what each receive of a step must get.
struct letter {
  int from = 0;
  int to = 0;
  std::uint64_t tag = 0;
  std::int64_t bytes = 0;
  std::uint64_t data = 0;  ///< the seed of its bytes
};
/// In the order in which each sender sends its own.
[[nodiscard]] std::vector<letter> letters_of(step const& s, int members);
/// Those for one member in the order in which it takes them: any order of senders and tags, but of
/// one sender and tag as they were sent.
[[nodiscard]] std::vector<letter> taken_by(int member, std::vector<letter> const& all,
                                           std::uint64_t order);

}  // namespace hocket::conformance
