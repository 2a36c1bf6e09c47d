// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <array>
#include <cstdint>
#include <hocket/detail/block_pool.hpp>
#include <mutex>
#include <new>

namespace hocket::detail {
namespace {

constexpr std::uint32_t batch_size = 32;
constexpr std::uint32_t kept_max = 2 * batch_size;  // blocks of one size a thread keeps
constexpr std::size_t step = 64;
constexpr std::size_t sizes = block_pool::bytes_max / step;

struct free_block {
  free_block* next;
  free_block* next_batch;  // of the first block of a batch in the common list
  std::uint32_t count;     // likewise: blocks in this batch
};

struct common_list {
  std::mutex mutex;
  free_block* batches = nullptr;
};

common_list& common(std::size_t size) noexcept {
  static auto* const lists = new std::array<common_list, sizes>;  // outlives every thread
  return (*lists)[size];
}

void push_batch(std::size_t size, free_block* first, std::uint32_t count) noexcept {
  auto& list = common(size);
  first->count = count;
  std::lock_guard const lock(list.mutex);
  first->next_batch = list.batches;
  list.batches = first;
}

// What one thread keeps. `kept_max` is 0 before the first use and again when the thread ends, so
// that the fast paths need no check of their own.
struct thread_lists {
  struct list {
    free_block* head;
    std::uint32_t count;
    std::uint32_t kept_max;
  };
  std::array<list, sizes> lists;
  bool ended;
};

constinit thread_local thread_lists local{};

struct at_thread_exit {
  ~at_thread_exit() {
    local.ended = true;
    for (std::size_t size = 0; size < sizes; ++size) {
      auto& l = local.lists[size];
      if (l.head != nullptr) push_batch(size, l.head, l.count);
      l = {nullptr, 0, 0};
    }
  }
};

// Whether this thread may keep blocks; the first call arranges for the end of the thread.
bool may_keep() noexcept {
  static thread_local at_thread_exit const guard;
  static_cast<void>(guard);
  return !local.ended;
}

std::size_t size_index(std::size_t bytes) noexcept { return bytes == 0 ? 0 : (bytes - 1) / step; }

void* fresh(std::size_t bytes) {
  return ::operator new (bytes, std::align_val_t{block_pool::alignment});
}

void* take_slow(std::size_t size) {
  if (may_keep()) {
    auto& list = common(size);
    free_block* batch = nullptr;
    {
      std::lock_guard const lock(list.mutex);
      batch = list.batches;
      if (batch != nullptr) list.batches = batch->next_batch;
    }
    if (batch != nullptr) {
      auto& l = local.lists[size];
      l = {batch->next, batch->count - 1, kept_max};
      return batch;
    }
  }
  return fresh((size + 1) * step);
}

void give_slow(free_block* block, std::size_t size) noexcept {
  block->next = nullptr;
  if (!may_keep()) return push_batch(size, block, 1);
  auto& l = local.lists[size];
  if (l.kept_max == 0) {  // the first of this size on this thread
    l.kept_max = kept_max;
    block->next = l.head;
    l.head = block;
    ++l.count;
    return;
  }
  // The list is full: keep the newer half, which is warm in the cache.
  free_block* last = l.head;
  for (std::uint32_t i = 1; i < batch_size; ++i) last = last->next;
  push_batch(size, last->next, l.count - batch_size);
  last->next = nullptr;
  block->next = l.head;
  l.head = block;
  l.count = batch_size + 1;
}

}  // namespace

void* block_pool::take(std::size_t bytes) {
  if (bytes > bytes_max) return fresh(bytes);
  auto const size = size_index(bytes);
  auto& l = local.lists[size];
  free_block* const block = l.head;
  if (block == nullptr) return take_slow(size);
  l.head = block->next;
  --l.count;
  return block;
}

void block_pool::give(void* block, std::size_t bytes) noexcept {
  if (bytes > bytes_max) return ::operator delete (block, std::align_val_t{alignment});
  auto const size = size_index(bytes);
  auto& l = local.lists[size];
  auto* const b = static_cast<free_block*>(block);
  if (l.count >= l.kept_max) return give_slow(b, size);
  b->next = l.head;
  l.head = b;
  ++l.count;
}

#ifdef HOCKET_SANITIZED
void* take_block(std::size_t bytes) { return fresh(bytes == 0 ? 1 : bytes); }
void give_block(void* block, std::size_t) noexcept {
  ::operator delete (block, std::align_val_t{block_pool::alignment});
}
#else
void* take_block(std::size_t bytes) { return block_pool::take(bytes); }
void give_block(void* block, std::size_t bytes) noexcept { block_pool::give(block, bytes); }
#endif

}  // namespace hocket::detail
