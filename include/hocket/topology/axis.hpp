// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace hocket {

/// A direction of parallelism: tensor, context, expert, data, pipeline.
enum class axis : std::uint8_t { tp, cp, ep, dp, pp };

/// tp, cp, ep, dp, pp.
inline constexpr std::size_t axis_count = 5;
/// In the order in which texts name them.
inline constexpr std::array<axis, axis_count> all_axes{axis::tp, axis::cp, axis::ep, axis::dp,
                                                       axis::pp};

/// "tp", "cp", "ep", "dp" or "pp".
[[nodiscard]] std::string_view name_of(axis a) noexcept;

/// The axis of that name, in upper or lower case; anything else is `errc::invalid_argument`.
[[nodiscard]] axis parse_axis(std::string_view name);

/// In place of one size: what is left of the world after the other axes took their share.
inline constexpr int derive = std::numeric_limits<int>::min();

/// Ranks along each axis. One of them may be `derive`.
struct axis_sizes {
  /// @{
  /// At least 1, or `derive`.
  int tp = 1;
  int cp = 1;
  int ep = 1;
  int dp = derive;
  int pp = 1;
  /// @}

  /// @{
  /// The size along an axis.
  [[nodiscard]] constexpr int& operator[](axis a) noexcept { return this->*member(a); }
  [[nodiscard]] constexpr int operator[](axis a) const noexcept { return this->*member(a); }
  /// @}
  /// Equal in all five, `derive` only to itself.
  friend constexpr bool operator==(axis_sizes const&, axis_sizes const&) = default;

 private:
  static constexpr int axis_sizes::*member(axis a) noexcept {
    switch (a) {
      case axis::tp:
        return &axis_sizes::tp;
      case axis::cp:
        return &axis_sizes::cp;
      case axis::ep:
        return &axis_sizes::ep;
      case axis::dp:
        return &axis_sizes::dp;
      case axis::pp:
        break;
    }
    return &axis_sizes::pp;
  }
};

/// A set of axes: the ones along which the members of a group differ. Its order has no meaning.
class axis_set {
 public:
  /// The empty set: each rank is a group of its own.
  constexpr axis_set() noexcept = default;

  /// Of these axes; naming one twice is the same as naming it once.
  template <std::same_as<axis>... Axes>
  requires(sizeof...(Axes) >
           0) constexpr axis_set(Axes... axes) noexcept  // a single axis converts: groups(axis::tp)
      : bits_(static_cast<std::uint8_t>((bit(axes) | ...))) {}

  /// Reads "tp-cp" or "CP-tp". An unknown, repeated or empty name is `errc::invalid_argument`.
  [[nodiscard]] static axis_set parse(std::string_view text);

  /// Whether the members of a group differ along this axis.
  [[nodiscard]] constexpr bool contains(axis a) const noexcept { return (bits_ & bit(a)) != 0; }
  /// Whether each rank is a group of its own.
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }

  /// This set and one more axis.
  [[nodiscard]] constexpr axis_set with(axis a) const noexcept {
    axis_set more;
    more.bits_ = static_cast<std::uint8_t>(bits_ | bit(a));
    return more;
  }

  /// "tp-cp", always in the order tp, cp, ep, dp, pp.
  [[nodiscard]] std::string text() const;

  /// The same axes, however they were spelled.
  friend constexpr bool operator==(axis_set, axis_set) = default;

 private:
  static constexpr unsigned bit(axis a) noexcept { return 1u << static_cast<unsigned>(a); }
  std::uint8_t bits_ = 0;
};

}  // namespace hocket
