// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <cstddef>
#include <hocket/group/object.hpp>
#include <vector>

#include "long_mode.hpp"

using namespace hocket;

// 7 GB of memory: nightly only.
TEST_CASE("an object of 2400000401 bytes comes back with that many" *
          doctest::skip(!test::is_long_mode())) {
  constexpr std::uint64_t length = 2400000401;
  auto const limits = object_limits().bytes_max(std::uint64_t{1} << 32);
  std::vector<std::byte> bytes(length);
  for (std::size_t i = 0; i < length; i += 4093) bytes[i] = static_cast<std::byte>(i / 4093);
  auto const p = encode_object(bytes, limits);
  auto const back = decode_object<std::vector<std::byte>>(p, limits);
  CHECK(back.size() == length);
  CHECK(back == bytes);
}
