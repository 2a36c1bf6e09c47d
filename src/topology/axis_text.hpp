// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/topology/axis.hpp>
#include <string_view>
#include <vector>

namespace hocket::detail {

/// The axes of "tp-cp-pp" as written. An unknown, repeated or empty name is
/// `errc::invalid_argument`; `what` ("order", "axis set") begins the text of the error.
[[nodiscard]] std::vector<axis> split_axes(std::string_view what, std::string_view text);

}  // namespace hocket::detail
