// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "algorithm/slices.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

using namespace hocket::algorithm;

TEST_CASE("the slices of 1 to 9 ranks follow each other without gaps and cover all elements") {
  std::array<std::int64_t, 14> const counts{0,  1,   7,    15,   16,    17,    63,
                                            64, 100, 1000, 4096, 65537, 99991, 1 << 20};
  for (std::size_t const bytes : {1U, 2U, 4U, 8U, 16U})
    for (int ranks = 1; ranks <= 9; ++ranks)
      for (auto const count : counts) {
        CAPTURE(bytes);
        CAPTURE(ranks);
        CAPTURE(count);
        std::int64_t next = 0;
        for (int r = 0; r < ranks; ++r) {
          auto const s = slice_of(count, bytes, ranks, r);
          CHECK(s.start == next);
          CHECK(s.length >= 0);
          next = s.start + s.length;
        }
        CHECK(next == count);
      }
}

TEST_CASE("slices begin at lines of the cache, and differ by the lines that rounding takes") {
  for (std::size_t const bytes : {1U, 2U, 4U, 8U, 16U})
    for (int ranks = 1; ranks <= 9; ++ranks) {
      std::int64_t const count = 123457;
      auto const first = slice_of(count, bytes, ranks, 0).length;
      for (int r = 0; r < ranks; ++r) {
        auto const s = slice_of(count, bytes, ranks, r);
        auto const start = static_cast<std::size_t>(s.start) * bytes;
        CHECK((start % slice_alignment == 0 || s.length == 0));
        CHECK(s.length <= first);
        auto const fair = static_cast<std::size_t>(count / ranks) * bytes;
        CHECK(static_cast<std::size_t>(s.length) * bytes <= fair + slice_alignment + bytes);
      }
    }
}

TEST_CASE("one rank reduces whatever there is at once, and so do all where there is little") {
  CHECK_FALSE(reduces_in_slices(std::size_t{1} << 30, 1));
  CHECK_FALSE(reduces_in_slices(8, 2));
  CHECK(reduces_in_slices(std::size_t{1} << 20, 2));
  CHECK(reduces_in_slices(std::size_t{1} << 20, 9));
}

TEST_CASE("blocks of all givers fit into a cache, and are worth a system call") {
  for (std::size_t const bytes : {1U, 2U, 4U, 8U, 16U})
    for (int givers = 0; givers <= 9; ++givers) {
      auto const block = static_cast<std::size_t>(elements_a_block(bytes, givers)) * bytes;
      CHECK(block >= 64 * 1024);
      CHECK(block <= 256 * 1024);
    }
}
