// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>
#include <hocket/tensor/tensor.hpp>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "expect_error.hpp"

using namespace hocket;

constexpr std::size_t mib = std::size_t{1} << 20;

TEST_CASE("host blocks are aligned, as large as asked and written to the last byte") {
  for (bool const pooling : {false, true}) {
    host_memory memory(pooling);
    for (std::size_t bytes : {0UL, 1UL, 63UL, 64UL, 65UL, 1024UL, 1025UL, 5000UL, mib - 1, 2 * mib,
                              2 * mib + 1, 5 * mib}) {
      auto const b = memory.allocate(bytes);
      REQUIRE(b.data != nullptr);
      CHECK(b.bytes == bytes);
      CHECK(b.capacity >= bytes);
      CHECK(reinterpret_cast<std::uintptr_t>(b.data) % 64 == 0);
      if (pooling && bytes >= 2 * mib)
        CHECK(reinterpret_cast<std::uintptr_t>(b.data) % (2 * mib) == 0);
      std::memset(b.data, 0x5a, bytes);
      memory.deallocate(b, nullptr);
    }
  }
}

TEST_CASE("freed host blocks are used again, counted and bounded") {
  host_memory memory(true);
  auto const a = memory.allocate(3 * mib);
  CHECK(memory.stats().bytes_live == a.capacity);
  memory.deallocate(a, nullptr);
  CHECK(memory.stats().bytes_live == 0);
  CHECK(memory.stats().bytes_pooled == a.capacity);
  auto const again = memory.allocate(4 * mib);  // the same size class
  CHECK(again.data == a.data);
  CHECK(memory.stats().bytes_pooled == 0);
  memory.deallocate(again, nullptr);

  memory.set_pool_limit(6 * mib);
  auto const x = memory.allocate(mib);
  auto const y = memory.allocate(2 * mib);
  memory.deallocate(x, nullptr);
  memory.deallocate(y, nullptr);  // 4 + 1 + 2: the largest goes
  CHECK(memory.stats().bytes_pooled == 3 * mib);
  auto const huge = memory.allocate(8 * mib);
  memory.deallocate(huge, nullptr);  // above the limit on its own
  CHECK(memory.stats().bytes_pooled == 3 * mib);
  memory.trim();
  CHECK(memory.stats().bytes_pooled == 0);
}

TEST_CASE("asking for more than there is names the number") {
  expect_error(errc::out_of_memory, "no memory for 4611686018427387904 bytes on the host",
               [] { (void)host_allocator().allocate(std::size_t{1} << 62); });
  expect_error(errc::too_large, "f64[1152921504606846976] has more than 2^63 - 1 bytes",
               [] { (void)tensor::empty(dtype::f64, {std::int64_t{1} << 60}); });
}

TEST_CASE("host memory serves many threads that free each other's blocks") {
  host_memory memory(true);  // under the sanitizers, too
  memory.set_pool_limit(100'000);
  std::vector<memory_block> slots(64);
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 3000; ++i) {
        auto const bytes = 1 + random() % 20'000;
        auto mine = memory.allocate(bytes);
        std::memset(mine.data, static_cast<int>(t), bytes);
        {
          std::lock_guard const lock(mutex);
          std::swap(mine, slots[random() % slots.size()]);
        }
        if (mine.data != nullptr) memory.deallocate(mine, nullptr);
      }
    });
  for (auto& t : threads) t.join();
  for (auto const& b : slots)
    if (b.data != nullptr) memory.deallocate(b, nullptr);
  CHECK(memory.stats().bytes_live == 0);
}

TEST_CASE("blocks of a memory file can be mapped elsewhere by file and offset") {
  auto const memory = std::make_shared<memfd_allocator>(4 * mib);
  auto const first = tensor::zeros(dtype::u8, {100});
  auto const t = tensor::empty(dtype::i32, {7, 11}, *memory);
  auto const u = tensor::empty(dtype::i32, {5}, *memory);
  for (int i = 0; i < 77; ++i) t.data<std::int32_t>()[i] = i * i;
  u.data<std::int32_t>()[4] = -1;
  auto const& block = u.storage()->block();
  CHECK(first.storage()->block().fd == -1);
  CHECK(block.fd == memory->fd());
  CHECK(block.offset != t.storage()->block().offset);

  void* const other = ::mmap(nullptr, memory->capacity(), PROT_READ, MAP_SHARED, block.fd, 0);
  REQUIRE(other != MAP_FAILED);
  auto const* const bytes = static_cast<std::byte const*>(other);
  CHECK(std::memcmp(bytes + t.storage()->block().offset, t.const_bytes(), t.nbytes()) == 0);
  CHECK(std::memcmp(bytes + block.offset, u.const_bytes(), u.nbytes()) == 0);
  ::munmap(other, memory->capacity());
}

TEST_CASE("a memory file reuses blocks, says when it is full and lives as long as its tensors") {
  auto memory = std::make_shared<memfd_allocator>(64 * 1024);
  auto t = tensor::empty(dtype::u8, {40 * 1024}, *memory);
  expect_error(errc::out_of_memory,
               "no memory for 30000 bytes in a memory file of 65536: 40960 in use, 0 free in other "
               "sizes",
               [&] { (void)tensor::empty(dtype::u8, {30'000}, *memory); });
  auto const* const place = t.const_bytes();
  t = tensor();
  CHECK(memory->stats().bytes_pooled == 40 * 1024);
  t = tensor::empty(dtype::u8, {40 * 1024}, *memory);
  CHECK(t.const_bytes() == place);
  memory.reset();
  t.bytes()[40 * 1024 - 1] = std::byte{1};  // still mapped
  CHECK(t.const_bytes()[40 * 1024 - 1] == std::byte{1});
}
