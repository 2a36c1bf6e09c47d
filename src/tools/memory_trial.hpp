// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/system/error_code.hpp>
#include <cstddef>

namespace hocket::tools {

inline constexpr std::size_t trial_bytes = std::size_t{1} << 20;

/// Starts two processes, as a launcher starts ranks, and lets one read `trial_bytes` of the other's
/// memory. The code of what failed; `errc::corrupt` if other bytes came. The caller has no threads.
[[nodiscard]] boost::system::error_code try_reading_a_peer();

}  // namespace hocket::tools
