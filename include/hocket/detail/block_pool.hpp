// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <hocket/detail/sanitized.hpp>

namespace hocket::detail {

/// Small blocks that are taken and given back at a high rate, by any thread.
/// Each thread keeps short free lists by size; surplus moves to and from a common list in batches,
/// so that a block may be given back on another thread than it was taken on, also while threads
/// end. Blocks are aligned to 64 bytes. Sizes above `bytes_max` go to the general allocator.
/// Memory stays with the pool: it holds what the busiest moment needed.
class block_pool {
 public:
  static constexpr std::size_t bytes_max = 1024;
  static constexpr std::size_t alignment = 64;

  /// Throws std::bad_alloc.
  [[nodiscard]] static void* take(std::size_t bytes);
  /// `bytes` as it was at take().
  static void give(void* block, std::size_t bytes) noexcept;
};

/// The pool as objects use it: passed by in sanitizer builds, where reuse would hide a
/// use-after-free.
[[nodiscard]] void* take_block(std::size_t bytes);
void give_block(void* block, std::size_t bytes) noexcept;

/// Base of classes whose objects live in the pool.
struct pooled {
  static void* operator new(std::size_t bytes) { return take_block(bytes); }
  static void operator delete(void* block, std::size_t bytes) noexcept { give_block(block, bytes); }
};

}  // namespace hocket::detail
