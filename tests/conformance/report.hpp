// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "reference.hpp"

/// What a failing case says: all that is needed to see what is wrong and to run it again.
namespace hocket::conformance {

/// What was tried.
struct trial_name {
  std::string operation;  ///< "all_reduce f16 sum [7,3], strided -> transposed"
  std::string engine;     ///< "host (HOCKET_IO=epoll)"
  std::string group;      ///< "reversed[2,1,0]"
  int ranks = 0;          ///< of the world
  int rank = 0;           ///< the one that saw it
  std::uint64_t seed = 0;
};

/// Where an array is not what it should be.
struct array_difference {
  std::int64_t index = 0;  ///< of the first wrong element
  std::int64_t wrong = 0;  ///< how many
  std::string got, expected;
};

/// The first wrong element; none: all are right. Of other dtypes or extents: of what arrays they
/// are.
[[nodiscard]] std::optional<array_difference> difference_of(array const& got,
                                                            array const& expected);

/// "[3,1]" of element 10 in [7,3]; "" of a scalar.
[[nodiscard]] std::string place_of(std::int64_t index, extents const& e);
/// "f16[7,3]"
[[nodiscard]] std::string brief(array const& a);

/// One line a fact: operation, engine, ranks, group, rank, seed, first wrong element, expected, got
/// and how to run it again.
[[nodiscard]] std::string report(trial_name const& t, array const& expected,
                                 array_difference const& d);
/// The same for a trial that ended otherwise than it should.
[[nodiscard]] std::string report(trial_name const& t, std::string const& expected,
                                 std::string const& got);

}  // namespace hocket::conformance
