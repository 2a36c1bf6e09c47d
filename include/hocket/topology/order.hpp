// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <hocket/topology/axis.hpp>
#include <span>
#include <string>
#include <string_view>

namespace hocket {

/// Which axis varies fastest from one rank to the next. Two notations are in use, each read by
/// the function that says its name; an order is the same value whichever it was written in.
/// Axes that the text leaves out must have size 1 and count as outermost, in Megatron's order
/// tp, pp, dp, ep, cp.
class order {
 public:
  /// tp-cp-ep-dp-pp, innermost first: Megatron's default.
  order() noexcept;

  /// Megatron's notation: neighbours along the leftmost axis have consecutive ranks.
  /// An unknown, repeated or empty name is `errc::invalid_argument`; upper case is accepted.
  [[nodiscard]] static order innermost_first(std::string_view text);

  /// The other notation: neighbours along the rightmost axis have consecutive ranks.
  [[nodiscard]] static order outermost_first(std::string_view text);

  /// All axes, the fastest first, with the ones that the text left out at the end.
  [[nodiscard]] std::span<axis const, axis_count> axes() const noexcept { return axes_; }

  /// True if the text names this axis: only then may its size be above 1.
  [[nodiscard]] bool names(axis a) const noexcept { return named_.contains(a); }

  /// The named axes in Megatron's notation, "tp-cp-pp".
  [[nodiscard]] std::string text() const;

  /// Equal if they lay out ranks alike: axes that were left out compare like named ones.
  friend bool operator==(order const& a, order const& b) noexcept { return a.axes_ == b.axes_; }

 private:
  explicit order(std::span<axis const> innermost_first) noexcept;

  std::array<axis, axis_count> axes_;
  axis_set named_;
};

}  // namespace hocket
