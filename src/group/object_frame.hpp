// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <hocket/group/object_header.hpp>
#include <span>

namespace hocket::detail {

/// A table row: u8 dtype, u8 dimensions, six zero bytes, eight i64 extents, zero where unused.
inline constexpr std::size_t tensor_row_bytes = 8 + 8 * shape::ndim_max;

void put_tensor_row(std::byte* row, dtype type, shape const& extents) noexcept;

/// Row `index` of the table that begins `table_at` bytes into the object.
[[nodiscard]] tensor_form tensor_row(std::span<std::byte const> object, std::size_t table_at,
                                     std::uint64_t index);

/// A whole object whose lengths, limits and CRCs are right.
struct object_frame {
  object_header header;
  std::size_t table_at = 0;  ///< the value lies between the header and this byte
};

/// Throws as decode_object does.
[[nodiscard]] object_frame check_frame(std::span<std::byte const> object,
                                       object_limits const& limits);

}  // namespace hocket::detail
