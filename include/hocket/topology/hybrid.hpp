// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/topology/rank_group.hpp>
#include <vector>

namespace hocket {

/// The sizes in which a group can serve sequences of different lengths (hybrid context
/// parallelism): 2, 4, … below the largest power of two that fits, as far as they divide the
/// group, ascending. An odd or empty group is `errc::invalid_argument`.
[[nodiscard]] std::vector<int> hybrid_sizes(rank_group const& whole);

/// The group cut into neighbours of that size, in its own order; its full size gives the group
/// itself. Any size that `hybrid_sizes` does not list is `errc::invalid_argument`: there are no
/// short groups at the end.
[[nodiscard]] std::vector<rank_group> hybrid_groups(rank_group const& whole, int size);

}  // namespace hocket
