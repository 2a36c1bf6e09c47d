// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Counts every way to the general allocator that this program can take.
#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <hocket/detail/block_pool.hpp>
#include <hocket/tensor/copy.hpp>
#include <hocket/tensor/split_plan.hpp>

#ifndef HOCKET_SANITIZED

namespace {
std::atomic<long> calls{0};
}

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t n) noexcept {
  ++calls;
  return __libc_malloc(n);
}
void* calloc(std::size_t n, std::size_t m) noexcept {
  ++calls;
  return __libc_calloc(n, m);
}
void* realloc(void* p, std::size_t n) noexcept {
  ++calls;
  return __libc_realloc(p, n);
}
void* aligned_alloc(std::size_t a, std::size_t n) noexcept {
  ++calls;
  return __libc_memalign(a, n);
}
}

TEST_CASE("views, handles, splits and gathers reach the general allocator only to warm up") {
  auto const x = hocket::tensor::arange(hocket::dtype::f32, {2, 12, 4});
  auto const work = [&] {
    std::array<hocket::tensor, 3> parts;
    for (auto const how : {hocket::layout::strict, hocket::layout::balanced, hocket::layout::padded,
                           hocket::layout::zigzag}) {
      auto const plan = hocket::make_split_plan(how, x.shape(), 3, -2);
      for (int r = 0; r < 3; ++r) parts[static_cast<std::size_t>(r)] = hocket::split(x, plan, r);
      auto const y = hocket::gather(parts, plan);
      auto const copy = y.transpose(0, 2).flatten();
      hocket::write_lease const lease(copy.storage());
    }
    auto const large = hocket::tensor::zeros(hocket::dtype::u8, {3 << 20});
  };
  for (int i = 0; i < 3; ++i) work();
  long const before = calls;
  for (int i = 0; i < 100; ++i) work();
  CHECK(calls - before == 0);
  CHECK(before > 0);
}

#endif
