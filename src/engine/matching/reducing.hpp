// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/group/request.hpp>
#include <span>

namespace hocket::matching {

/// Reduces the members' inputs, in group order, into the outputs of those that have one.
void reduce_whole(std::span<request* const> parts);
/// The same, of which `to` gets its part.
void reduce_part(request& to, std::span<request* const> parts);

}  // namespace hocket::matching
