// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <exception>
#include <hocket/parallel/dtensor.hpp>

namespace hocket::detail {

/// What ranks compare before a tensor moves, as numbers: i64, one dimension.
[[nodiscard]] tensor record_of(dtensor const& from, mesh_layout const& to, placements const& where,
                               bool is_unable);

/// Throws if the records of the group's ranks differ (`errc::mismatch`, naming the first that
/// differs from the first rank's, and both), or a rank could not take part (`errc::peer_failed`);
/// on that rank itself `unable`.
void expect_agreement(tensor const& records, process_group const& over,
                      std::exception_ptr const& unable);

}  // namespace hocket::detail
