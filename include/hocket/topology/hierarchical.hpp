// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/topology/rank_group.hpp>
#include <span>
#include <vector>

namespace hocket {

/// The groups of one level of a context-parallel group whose ranks exchange in several levels
/// (Megatron's `a2a+p2p`): level 0 joins neighbours, sizes[0] of them; level 1 joins sizes[1] of
/// those groups, place by place; and so on. Ranks keep the order of the whole group.
/// `errc::invalid_argument` unless the product of the sizes is the size of the group.
[[nodiscard]] std::vector<rank_group> hierarchical_groups(rank_group const& whole,
                                                          std::span<int const> sizes, int level);

/// The group of one rank on every level, the innermost first. `errc::not_a_member` for a rank
/// outside the whole group.
[[nodiscard]] std::vector<rank_group> hierarchical_groups_of(world_rank rank,
                                                             rank_group const& whole,
                                                             std::span<int const> sizes);

}  // namespace hocket
