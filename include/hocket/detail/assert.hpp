// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

namespace hocket::detail {

/// Prints the broken invariant and its place, then aborts.
[[noreturn]] void assertion_failed(char const* condition, char const* file, int line) noexcept;

}  // namespace hocket::detail

/// An invariant of this library. Checked wherever NDEBUG is not defined and in all test builds
/// (HOCKET_CHECKED); a broken one is a fault here, never a caller's.
#if !defined(NDEBUG) || defined(HOCKET_CHECKED)
#define HOCKET_ASSERT(condition) \
  ((condition) ? void() : ::hocket::detail::assertion_failed(#condition, __FILE__, __LINE__))
#else
#define HOCKET_ASSERT(condition) void()
#endif
