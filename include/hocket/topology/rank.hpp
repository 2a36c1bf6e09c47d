// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <functional>

namespace hocket {

/// A rank that says what it counts. Made from an `int` only by name, never by conversion, so that
/// a rank of the world cannot be taken for a place in a group.
template <class Tag>
class basic_rank {
 public:
  constexpr basic_rank() noexcept = default;
  /// From an `int` only: a size or an unsigned index must be converted in sight.
  template <std::same_as<int> Int>
  constexpr explicit basic_rank(Int value) noexcept : value_(value) {}

  /// As a plain number.
  [[nodiscard]] constexpr int value() const noexcept { return value_; }
  /// By number; ranks of different kinds do not compare.
  friend constexpr auto operator<=>(basic_rank, basic_rank) = default;

 private:
  int value_ = 0;
};

/// A rank among all ranks of the program.
using world_rank = basic_rank<struct world_rank_tag>;

/// A place in one group: 0 is the member that its list names first.
using group_rank = basic_rank<struct group_rank_tag>;

}  // namespace hocket

/// Of its number.
template <class Tag>
struct std::hash<hocket::basic_rank<Tag>> {
  /// That of the int.
  std::size_t operator()(hocket::basic_rank<Tag> r) const noexcept {
    return std::hash<int>{}(r.value());
  }
};
