// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <hocket/tensor/dtype.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::host::test {

/// A tensor that a call says it gives; any numbers.
struct gift {
  gift(hocket::dtype t, std::vector<std::int64_t> e) : type(t), extents(std::move(e)) {}
  hocket::dtype type;
  std::vector<std::int64_t> extents;
};

template <class T>
void put(std::string& to, T const& value) {
  to.append(reinterpret_cast<char const*>(&value), sizeof value);
}

/// What a `mark` frame says of gifts; `count` of them, if it lies.
inline std::string described_gifts(std::vector<gift> const& gifts, std::uint32_t count = 0) {
  std::string all;
  put(all, count != 0 ? count : static_cast<std::uint32_t>(gifts.size()));
  for (auto const& g : gifts) {
    put(all, g.type);
    put(all, static_cast<std::uint8_t>(g.extents.size()));
    for (auto const e : g.extents) put(all, e);
    put(all, std::uint64_t{0x1000});
  }
  put(all, std::uint32_t{77});
  return all;
}

/// The description of a call that gives them.
inline std::string described(std::vector<gift> const& gifts, std::uint32_t count = 0,
                             std::uint32_t sizes = 0) {
  std::string_view const site = "foe.cpp:1";
  std::string all;
  put(all, static_cast<std::uint32_t>(site.size()));
  all += site;
  put(all, std::uint8_t{0});
  put(all, sizes);
  return all + described_gifts(gifts, count);
}

}  // namespace hocket::host::test
