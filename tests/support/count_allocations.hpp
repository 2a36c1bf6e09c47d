// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>

namespace hocket_test {

/// Calls of malloc, calloc, realloc, aligned_alloc, posix_memalign and memalign of this process so
/// far; a counter on operator new alone would miss Asio's. Linked with `hocket_test_allocations`;
/// not for sanitizer builds, which bring an allocator of their own.
[[nodiscard]] std::size_t allocations() noexcept;
/// The bytes they asked for.
[[nodiscard]] std::size_t allocated_bytes() noexcept;

}  // namespace hocket_test
