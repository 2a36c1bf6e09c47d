// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <hocket/error.hpp>
#include <hocket/tensor/allocator.hpp>
#include <mutex>
#include <new>

#include "size_class.hpp"

namespace hocket {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

std::byte* map_huge(std::size_t bytes) noexcept {
  void* const raw = ::mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(raw);
  auto const skip = (huge_page - reinterpret_cast<std::uintptr_t>(begin) % huge_page) % huge_page;
  if (skip != 0) ::munmap(begin, skip);
  if (skip != huge_page) ::munmap(begin + skip + bytes, huge_page - skip);
  ::madvise(begin + skip, bytes, MADV_HUGEPAGE);  // a kernel without huge pages refuses: no matter
  return begin + skip;
}

std::byte* from_system(std::size_t capacity) noexcept {
  if (capacity >= huge_page) return map_huge(capacity);
  return static_cast<std::byte*>(std::aligned_alloc(64, capacity));
}

void to_system(std::byte* data, std::size_t capacity) noexcept {
  if (capacity >= huge_page)
    ::munmap(data, capacity);
  else
    std::free(data);
}

std::size_t default_pool_limit() noexcept {
  auto const pages = ::sysconf(_SC_PHYS_PAGES);
  auto const page = ::sysconf(_SC_PAGESIZE);
  std::size_t const most = std::size_t{2} << 30;
  if (pages <= 0 || page <= 0) return most;
  return std::min(most, static_cast<std::size_t>(pages) / 4 * static_cast<std::size_t>(page));
}

struct free_block {
  free_block* next;
};

// Above 1 KiB an uncontended lock is a small part of touching the block, and blocks often come
// back on another thread; threads that use different sizes do not meet.
struct alignas(64) bin {
  std::mutex mutex;
  free_block* head = nullptr;
};

}  // namespace

struct host_memory::state {
  explicit state(bool pooling_) noexcept : pooling(pooling_) {}

  bool const pooling;
  std::array<bin, size_class::count> bins;
  std::atomic<std::size_t> live{0};
  std::atomic<std::size_t> pooled{0};
  std::atomic<std::size_t> limit{default_pool_limit()};

  std::byte* take(std::size_t index) noexcept {
    auto& b = bins[index];
    std::lock_guard const lock(b.mutex);
    auto* const block = b.head;
    if (block == nullptr) return nullptr;
    b.head = block->next;
    pooled.fetch_sub(size_class::bytes(index), std::memory_order_relaxed);
    return reinterpret_cast<std::byte*>(block);
  }

  void keep(std::size_t index, std::byte* data) noexcept {
    auto& b = bins[index];
    auto* const block = ::new (data) free_block{nullptr};
    std::lock_guard const lock(b.mutex);
    block->next = b.head;
    b.head = block;
    pooled.fetch_add(size_class::bytes(index), std::memory_order_relaxed);
  }

  // Large blocks go first: they are few, and what is used again comes back soon.
  void shrink_to(std::size_t bytes) noexcept {
    for (auto index = size_class::count; index-- > 0;)
      while (pooled.load(std::memory_order_relaxed) > bytes) {
        auto* const data = take(index);
        if (data == nullptr) break;
        to_system(data, size_class::bytes(index));
      }
  }
};

#ifdef HOCKET_SANITIZED
host_memory::host_memory() : host_memory(false) {}
#else
host_memory::host_memory() : host_memory(true) {}
#endif
host_memory::host_memory(bool pooling) : state_(std::make_unique<state>(pooling)) {}
host_memory::~host_memory() { trim(); }

memory_block host_memory::allocate(std::size_t bytes) {
  memory_block block{.data = nullptr, .bytes = bytes, .capacity = bytes, .fd = -1, .offset = 0};
  if (bytes > size_class::bytes_max) {
    // past every address space: refused below
  } else if (!state_->pooling) {  // the exact size, so that an overrun is seen
    block.data = static_cast<std::byte*>(
        ::operator new (std::max<std::size_t>(bytes, 1), std::align_val_t{64}, std::nothrow));
  } else if (bytes <= detail::block_pool::bytes_max) {
    block.data = static_cast<std::byte*>(detail::take_block(bytes));
  } else {
    auto const rounded =
        bytes >= huge_page ? (bytes + huge_page - 1) / huge_page * huge_page : bytes;
    auto const index = size_class::index(rounded);
    block.capacity = size_class::bytes(index);
    block.data = state_->take(index);
    if (block.data == nullptr) block.data = from_system(block.capacity);
    if (block.data == nullptr) {  // what is pooled for other sizes may be what is missing
      trim();
      block.data = from_system(block.capacity);
    }
  }
  if (block.data == nullptr)
    throw error(errc::out_of_memory, fmt::format("no memory for {} bytes on the host", bytes));
  state_->live.fetch_add(block.capacity, std::memory_order_relaxed);
  return block;
}

void host_memory::deallocate(memory_block const& block, std::unique_ptr<device_marks>) noexcept {
  state_->live.fetch_sub(block.capacity, std::memory_order_relaxed);
  if (!state_->pooling) return ::operator delete (block.data, std::align_val_t{64});
  if (block.bytes <= detail::block_pool::bytes_max)
    return detail::give_block(block.data, block.bytes);
  auto const limit = state_->limit.load(std::memory_order_relaxed);
  if (block.capacity > limit) return to_system(block.data, block.capacity);
  state_->keep(size_class::index(block.capacity), block.data);
  if (state_->pooled.load(std::memory_order_relaxed) > limit) state_->shrink_to(limit);
}

void host_memory::trim() noexcept { state_->shrink_to(0); }

void host_memory::set_pool_limit(std::size_t bytes) noexcept {
  state_->limit.store(bytes, std::memory_order_relaxed);
  state_->shrink_to(bytes);
}

allocator_stats host_memory::stats() const noexcept {
  return {state_->live.load(std::memory_order_relaxed),
          state_->pooled.load(std::memory_order_relaxed)};
}

host_memory& host_allocator() {
  static auto* const instance = new host_memory;  // tensors may outlive every static object
  return *instance;
}

}  // namespace hocket
