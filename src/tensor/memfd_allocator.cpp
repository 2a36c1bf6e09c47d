// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <hocket/error.hpp>
#include <hocket/tensor/allocator.hpp>
#include <mutex>
#include <vector>

#include "size_class.hpp"

namespace hocket {
namespace {

error system_error(char const* what, std::size_t bytes) {
  auto const code = boost::system::error_code(errno, boost::system::system_category());
  return {code, fmt::format("{} of a {}-byte memory file: {}", what, bytes, code.message())};
}

}  // namespace

struct memfd_allocator::state {
  int fd = -1;
  std::size_t capacity = 0;
  std::byte* base = nullptr;
  std::mutex mutex;  // guards what follows
  std::size_t used = 0;
  std::size_t live = 0;
  std::size_t pooled = 0;
  struct blocks {
    std::size_t made = 0;
    std::vector<std::size_t> free;  // offsets; has room for all that were made
  };
  std::array<blocks, size_class::count> sizes;

  ~state() {
    if (base != nullptr) ::munmap(base, capacity);
    if (fd >= 0) ::close(fd);
  }
};

memfd_allocator::memfd_allocator(std::size_t capacity_bytes) : state_(std::make_unique<state>()) {
  auto& s = *state_;
  auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  s.capacity = (std::max<std::size_t>(capacity_bytes, 1) + page - 1) / page * page;
  s.fd = ::memfd_create("hocket", MFD_CLOEXEC);
  if (s.fd < 0) throw system_error("creation", s.capacity);
  if (::ftruncate(s.fd, static_cast<off_t>(s.capacity)) != 0)
    throw system_error("sizing", s.capacity);
  void* const at = ::mmap(nullptr, s.capacity, PROT_READ | PROT_WRITE, MAP_SHARED, s.fd, 0);
  if (at == MAP_FAILED) throw system_error("mapping", s.capacity);
  s.base = static_cast<std::byte*>(at);
}

memfd_allocator::~memfd_allocator() = default;

memory_block memfd_allocator::allocate(std::size_t bytes) {
  auto& s = *state_;
  std::lock_guard const lock(s.mutex);
  std::size_t offset = s.capacity;
  std::size_t size = bytes;
  if (bytes <= s.capacity) {
    auto const index = size_class::index(bytes);
    size = size_class::bytes(index);
    auto& [made, free] = s.sizes[index];
    if (!free.empty()) {
      offset = free.back();
      free.pop_back();
      s.pooled -= size;
    } else if (size <= s.capacity - s.used) {
      if (made == free.capacity()) free.reserve(2 * made + 8);
      ++made;
      offset = s.used;
      s.used += size;
    }
  }
  if (offset == s.capacity)
    throw error(errc::out_of_memory,
                fmt::format("no memory for {} bytes in a memory file of {}: {} in use, {} free in "
                            "other sizes",
                            bytes, s.capacity, s.live, s.pooled));
  s.live += size;
  return {.data = s.base + offset, .bytes = bytes, .capacity = size, .fd = s.fd, .offset = offset};
}

void memfd_allocator::deallocate(memory_block const& block,
                                 std::unique_ptr<device_marks>) noexcept {
  auto& s = *state_;
  std::lock_guard const lock(s.mutex);
  s.sizes[size_class::index(block.capacity)].free.push_back(block.offset);
  s.live -= block.capacity;
  s.pooled += block.capacity;
}

int memfd_allocator::fd() const noexcept { return state_->fd; }
std::size_t memfd_allocator::capacity() const noexcept { return state_->capacity; }

allocator_stats memfd_allocator::stats() const noexcept {
  std::lock_guard const lock(state_->mutex);
  return {state_->live, state_->pooled};
}

}  // namespace hocket
