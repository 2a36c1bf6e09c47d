// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <hocket/tensor/split_plan.hpp>
#include <span>
#include <vector>

#include "trial.hpp"

namespace hocket::conformance {

/// How a tensor of at least one dimension is cut in this trial.
class cut {
 public:
  explicit cut(trial const& t) : how(static_cast<layout>(t.seed / 7 % 5)), whole(t.part) {
    if (whole.empty()) whole.push_back(3);
    dim = t.seed / 35 % whole.size();
    std::int64_t const n = t.n();
    if (how == layout::strict) whole[dim] *= n;
    if (how == layout::zigzag) whole[dim] *= 2 * n;
    if (how == layout::uneven) whole[dim] += n - 1;
    for (int r = 0; r < t.n(); ++r) parts.push_back(indices_of(how, whole[dim], t.n(), r));
  }
  layout how;
  extents whole;
  std::size_t dim = 0;
  std::vector<std::vector<std::int64_t>> parts;

  [[nodiscard]] split_plan plan() const {
    auto const n = static_cast<int>(parts.size());
    if (how != layout::uneven)
      return make_split_plan(how, whole[dim], n, static_cast<std::int64_t>(dim));
    std::vector<std::int64_t> sizes;
    for (auto const& p : parts) sizes.push_back(static_cast<std::int64_t>(p.size()));
    return make_split_plan(std::span<std::int64_t const>(sizes), static_cast<std::int64_t>(dim));
  }
  [[nodiscard]] std::vector<std::int64_t> const& of(int rank) const {
    return parts[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] extents part_of(int rank) const {
    extents e = whole;
    e[dim] = static_cast<std::int64_t>(of(rank).size());
    return e;
  }
  /// Each rank's own data at its seats; what is in the padding of a part is dropped.
  [[nodiscard]] array gathered(trial const& t) const {
    array all(t.dtype, whole);
    for (int r = 0; r < t.n(); ++r) put(all, t.data(r, part_of(r)), dim, of(r));
    return all;
  }
};

}  // namespace hocket::conformance
