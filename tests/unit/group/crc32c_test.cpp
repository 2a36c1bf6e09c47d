// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <group/crc32c.hpp>
#include <object_frames.hpp>
#include <random>
#include <span>
#include <string_view>
#include <vector>

TEST_CASE("the CRC of RFC 3720's examples is the one printed there") {
  std::vector<std::byte> zeros(32);
  std::vector<std::byte> ones(32, std::byte{0xff});
  std::vector<std::byte> rising(32);
  for (std::size_t i = 0; i < 32; ++i) rising[i] = static_cast<std::byte>(i);
  CHECK(hocket::detail::crc32c(zeros) == 0x8a9136aa);
  CHECK(hocket::detail::crc32c(ones) == 0x62a8ab43);
  CHECK(hocket::detail::crc32c(rising) == 0x46dd794e);
  std::string_view const digits = "123456789";
  CHECK(hocket::detail::crc32c(std::as_bytes(std::span(digits))) == 0xe3069283);
  CHECK(hocket::detail::crc32c({}) == 0);
}

TEST_CASE("both implementations agree with a third at every length and alignment around a lane") {
  std::mt19937_64 random(3);
  std::vector<std::byte> bytes(30000);
  for (auto& b : bytes) b = static_cast<std::byte>(random());
  std::span<std::byte const> const all(bytes);
  for (int const length :
       {1, 7, 8, 9, 63, 4095, 4096, 12287, 12288, 12289, 24575, 24576, 24585, 29000}) {
    for (int const start : {0, 1, 3, 8}) {
      auto const part =
          all.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(length));
      auto const expected = support::crc32c(part);
      CHECK(hocket::detail::crc32c(part) == expected);
      CHECK(hocket::detail::crc32c_portable(part) == expected);
    }
  }
}
