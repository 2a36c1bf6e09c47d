// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <hocket/detail/block_pool.hpp>
#include <hocket/tensor/tensor.hpp>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

// block_pool itself, not take_block(): this pools under the sanitizers, too.
using hocket::detail::block_pool;

TEST_CASE("a block comes back to the thread that gave it, of the right size and alignment") {
  void* const a = block_pool::take(100);
  CHECK(reinterpret_cast<std::uintptr_t>(a) % block_pool::alignment == 0);
  block_pool::give(a, 100);
  void* const b = block_pool::take(128);  // both are of the 128-byte size
  CHECK(a == b);
  block_pool::give(b, 128);
  void* const large = block_pool::take(5000);
  std::memset(large, 1, 5000);
  block_pool::give(large, 5000);
  void* const nothing = block_pool::take(0);
  CHECK(nothing != nullptr);
  block_pool::give(nothing, 0);
}

TEST_CASE("blocks in use are distinct, however many there are") {
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(block_pool::take(256));
  CHECK(std::set<void*>(blocks.begin(), blocks.end()).size() == blocks.size());
  for (void* const b : blocks) block_pool::give(b, 256);
  std::set<void*> const known(blocks.begin(), blocks.end());
  std::vector<void*> again;
  for (int i = 0; i < 1000; ++i) again.push_back(block_pool::take(256));
  for (void* const b : again) CHECK(known.count(b) == 1);
  for (void* const b : again) block_pool::give(b, 256);
}

TEST_CASE("blocks given by a thread that ends serve the others") {
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(block_pool::take(640));
  std::thread([&] {
    for (void* const b : blocks) block_pool::give(b, 640);
  }).join();
  std::set<void*> const known(blocks.begin(), blocks.end());
  std::vector<void*> again;
  for (int i = 0; i < 100; ++i) again.push_back(block_pool::take(640));
  for (void* const b : again) CHECK(known.count(b) == 1);
  for (void* const b : again) block_pool::give(b, 640);
}

namespace {
struct gives_late {
  void* block = nullptr;
  ~gives_late() {
    if (block != nullptr) block_pool::give(block, 64);
    block_pool::give(block_pool::take(192), 192);
  }
};
}  // namespace

TEST_CASE("a thread may give and take while it ends") {
  for (int i = 0; i < 20; ++i)
    std::thread([] {
      static thread_local gives_late late;  // made first, so it goes after the thread's lists
      late.block = block_pool::take(64);
    }).join();
}

TEST_CASE("threads that pass blocks to each other never see one twice") {
  constexpr int thread_count = 4;
  constexpr int rounds = 20'000;
  std::mutex mutex;
  std::vector<void*> slots(97, nullptr);
  std::atomic<int> faults{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < thread_count; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < rounds; ++i) {
        auto* mine = static_cast<unsigned*>(block_pool::take(64));
        mine[0] = t;
        mine[15] = static_cast<unsigned>(i);
        std::this_thread::yield();
        if (mine[0] != t || mine[15] != static_cast<unsigned>(i)) ++faults;
        void* other = mine;
        {
          std::lock_guard const lock(mutex);
          std::swap(other, slots[random() % slots.size()]);
        }
        if (other != nullptr) block_pool::give(other, 64);
      }
    });
  for (auto& t : threads) t.join();
  for (void* const b : slots)
    if (b != nullptr) block_pool::give(b, 64);
  CHECK(faults == 0);
}

TEST_CASE("handles of one tensor may be copied, viewed and dropped on many threads") {
  auto const t = hocket::tensor::arange(hocket::dtype::i32, {6, 35});
  std::atomic<int> faults{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&, k] {
      for (int i = 0; i < 5000; ++i) {
        auto const row = hocket::tensor(t).select(0, k).slice(0, i % 35, 1);
        if (row.item<std::int32_t>(0) != 35 * k + i % 35) ++faults;
      }
    });
  for (auto& thread : threads) thread.join();
  CHECK(faults == 0);
}
