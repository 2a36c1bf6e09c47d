// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <algorithm>
#include <hocket/topology/order.hpp>

#include "axis_text.hpp"

namespace hocket {
namespace {

// How megatron.core.parallel_state.RankGenerator completes an order.
constexpr std::array<axis, axis_count> completion{axis::tp, axis::pp, axis::dp, axis::ep, axis::cp};

}  // namespace

order::order() noexcept : order(std::span<axis const>(all_axes)) {}

order::order(std::span<axis const> innermost_first) noexcept {
  auto out = std::ranges::copy(innermost_first, axes_.begin()).out;
  auto const named = std::span(axes_.begin(), out);
  for (auto a : completion)
    if (std::ranges::find(named, a) == named.end()) *out++ = a;
  for (auto a : named) named_ = named_.with(a);
}

order order::innermost_first(std::string_view text) {
  return order(std::span<axis const>(detail::split_axes("order", text)));
}

order order::outermost_first(std::string_view text) {
  auto axes = detail::split_axes("order", text);
  std::ranges::reverse(axes);
  return order(std::span<axis const>(axes));
}

std::string order::text() const {
  std::string out;
  for (auto a : axes_) {
    if (!names(a)) continue;
    if (!out.empty()) out += '-';
    out += name_of(a);
  }
  return out;
}

}  // namespace hocket
