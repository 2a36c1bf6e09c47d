// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <atomic>
#include <cstdint>

namespace hocket::detail {

/// The number of the first operation, and of the first message, of channels that are opened from
/// now on; equal on all ranks. Always 0 but in tests, which begin near where 32 bits end.
inline std::atomic<std::uint64_t> first_sequence{0};

}  // namespace hocket::detail
