// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>

namespace hocket::host {

/// How many times this process is the child of a fork since the first call: what was made at
/// another count belongs to the parent.
[[nodiscard]] std::uint64_t forks_of_this_process() noexcept;

}  // namespace hocket::host
