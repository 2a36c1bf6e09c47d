// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "count_allocations.hpp"

#include <atomic>
#include <cerrno>
#include <hocket/detail/sanitized.hpp>

namespace {
std::atomic<std::size_t> calls{0};
std::atomic<std::size_t> bytes{0};
}  // namespace

namespace hocket_test {
std::size_t allocations() noexcept { return calls.load(std::memory_order_relaxed); }
std::size_t allocated_bytes() noexcept { return bytes.load(std::memory_order_relaxed); }
}  // namespace hocket_test

#ifndef HOCKET_SANITIZED
namespace {
void count(std::size_t n) noexcept {
  calls.fetch_add(1, std::memory_order_relaxed);
  bytes.fetch_add(n, std::memory_order_relaxed);
}
}  // namespace

// glibc's own names of its allocator.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t n) {
  count(n);
  return __libc_malloc(n);
}
void* calloc(std::size_t members, std::size_t n) {
  count(members * n);
  return __libc_calloc(members, n);
}
void* realloc(void* p, std::size_t n) {
  count(n);
  return __libc_realloc(p, n);
}
void* memalign(std::size_t alignment, std::size_t n) {
  count(n);
  return __libc_memalign(alignment, n);
}
void* aligned_alloc(std::size_t alignment, std::size_t n) { return memalign(alignment, n); }
int posix_memalign(void** p, std::size_t alignment, std::size_t n) {
  *p = memalign(alignment, n);
  return *p != nullptr ? 0 : ENOMEM;
}
}
#endif
