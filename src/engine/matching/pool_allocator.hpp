// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <hocket/detail/block_pool.hpp>

namespace hocket::detail {

/// A standard allocator over the block pool, for short containers that come and go at a high rate.
template <class T>
struct pool_allocator {
  using value_type = T;

  pool_allocator() = default;
  template <class U>
  pool_allocator(pool_allocator<U> const&) noexcept {}
  [[nodiscard]] T* allocate(std::size_t n) { return static_cast<T*>(take_block(n * sizeof(T))); }
  void deallocate(T* p, std::size_t n) noexcept { give_block(p, n * sizeof(T)); }
  friend bool operator==(pool_allocator, pool_allocator) noexcept { return true; }
};

}  // namespace hocket::detail
