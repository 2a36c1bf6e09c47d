// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/topology/rank.hpp>

namespace hocket {

/// A member of a group, named either by its place in the group or by its rank in the world: the
/// type of the argument says which, an `int` says neither and does not compile.
class member {
 public:
  /// By its place in the group.
  constexpr member(group_rank r) noexcept : value_(r.value()) {}                       // NOLINT
  /// By its rank in the world.
  constexpr member(world_rank r) noexcept : value_(r.value()), is_world_(true) {}      // NOLINT

  /// The number alone, of whichever kind.
  [[nodiscard]] constexpr int value() const noexcept { return value_; }
  /// Whether the number is a rank in the world.
  [[nodiscard]] constexpr bool is_world() const noexcept { return is_world_; }

 private:
  int value_;
  bool is_world_ = false;
};

/// The source of a receive: one member, or whichever sends first.
class source {
 public:
  /// @{
  /// This member only.
  constexpr source(member m) noexcept : member_(m) {}             // NOLINT
  constexpr source(group_rank r) noexcept : member_(r) {}         // NOLINT
  constexpr source(world_rank r) noexcept : member_(r) {}         // NOLINT
  /// @}
  /// Whichever member's message matches first.
  [[nodiscard]] static constexpr source any() noexcept {
    source s{group_rank(0)};
    s.any_ = true;
    return s;
  }
  /// Whether any member will do.
  [[nodiscard]] constexpr bool is_any() const noexcept { return any_; }
  /// The member; without meaning where any will do.
  [[nodiscard]] constexpr member from() const noexcept { return member_; }

 private:
  member member_;
  bool any_ = false;
};

/// `g.recv(any_source)`: the first message with the right tag, whoever sends it.
inline constexpr source any_source = source::any();

}  // namespace hocket
