// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <hocket/error.hpp>
#include <hocket/tensor/dtype.hpp>

namespace hocket {
namespace {

constexpr std::array<std::string_view, dtype_count> names{
    "bool", "u8",   "i8",  "i16", "u16", "i32",  "u32",    "i64",   "u64",
    "f16",  "bf16", "f32", "f64", "c64", "c128", "f8e4m3", "f8e5m2"};

}  // namespace

std::string_view name_of(dtype t) noexcept {
  auto const index = static_cast<std::size_t>(t);
  return index < names.size() ? names[index] : "invalid dtype";
}

dtype parse_dtype(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<dtype>(i);
  throw error(errc::invalid_argument,
              fmt::format("no dtype \"{}\": there are {}", name, fmt::join(names, ", ")));
}

}  // namespace hocket
