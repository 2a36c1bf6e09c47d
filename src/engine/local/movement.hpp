// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <hocket/group/request.hpp>
#include <span>

namespace hocket::local {

/// Carries out a collective whose members have all come and agree: `parts` in group order.
/// Throws what allocation throws; then no rank has a result.
void transfer(std::span<request* const> parts);
/// Carries out a matched pair.
void transfer(request& send, request& recv);

/// About how many bytes `transfer` will copy: small ones are moved by whoever completes the match.
[[nodiscard]] std::size_t bytes_of(std::span<request* const> parts);

}  // namespace hocket::local
