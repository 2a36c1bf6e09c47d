// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "out_link.hpp"

namespace hocket::host {

/// A frame that says something in words.
[[nodiscard]] letter notice(frame_kind kind, std::uint64_t group, int rank, std::string_view text);
[[nodiscard]] std::string text_of(std::span<std::byte const> bytes);
/// The frame that releases an exposure.
[[nodiscard]] letter fetched(std::uint64_t exposure);

}  // namespace hocket::host
