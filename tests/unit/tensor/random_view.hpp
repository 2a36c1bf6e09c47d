// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdlib>
#include <hocket/tensor/tensor.hpp>
#include <iostream>
#include <random>

/// Random tensors for property tests; the seed is printed, HOCKET_TEST_SEED repeats a run.
class random_source {
 public:
  explicit random_source(char const* test) {
    char const* const given = std::getenv("HOCKET_TEST_SEED");
    auto const seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::cout << test << ": HOCKET_TEST_SEED=" << seed << '\n';
    engine_.seed(seed);
  }

  std::int64_t below(std::int64_t n) {
    return std::uniform_int_distribution<std::int64_t>(0, n - 1)(engine_);
  }

  hocket::dtype dtype() { return static_cast<hocket::dtype>(below(hocket::dtype_count)); }

  hocket::shape shape(std::int64_t ndim_max, std::int64_t extent_max) {
    hocket::shape s;
    for (auto n = below(ndim_max + 1); n > 0; --n) s.append(below(extent_max + 1));
    return s;
  }

  /// A tensor of `extents` whose bytes are random, contiguous or cut from a larger, turned one.
  hocket::tensor view(hocket::dtype type, hocket::shape const& extents) {
    auto const n = static_cast<std::int64_t>(extents.size());
    hocket::shape larger = extents;
    bool const cut = below(2) == 0;
    std::array<std::int64_t, hocket::shape::ndim_max> start{};
    if (cut) {
      for (std::size_t i = 0; i < extents.size(); ++i) {
        start[i] = below(3);
        larger.set(i, extents[i] + start[i] + below(2));
      }
    }
    std::int64_t const a = n > 1 ? below(n) : 0;
    std::int64_t const b = n > 1 ? below(n) : 0;
    if (n > 1) {
      auto const swapped = larger;
      larger.set(static_cast<std::size_t>(a), swapped[static_cast<std::size_t>(b)]);
      larger.set(static_cast<std::size_t>(b), swapped[static_cast<std::size_t>(a)]);
    }
    auto t = hocket::tensor::empty(type, larger);
    auto* const bytes = t.bytes();
    for (std::size_t i = 0; i < t.nbytes(); ++i) bytes[i] = static_cast<std::byte>(engine_());
    if (n > 1) t = t.transpose(a, b);
    if (cut)
      for (std::int64_t i = 0; i < n; ++i)
        t = t.slice(i, start[static_cast<std::size_t>(i)], extents[static_cast<std::size_t>(i)]);
    return t;
  }

 private:
  std::mt19937_64 engine_;
};
