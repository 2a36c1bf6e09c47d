// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <hocket/tensor/shape.hpp>

namespace hocket::detail {

/// Copies elements of `element_bytes` between two strided host arrays of one shape that do not
/// overlap. Strides are in elements.
void strided_copy(shape const& extents, std::size_t element_bytes, std::byte* dst,
                  std::int64_t const* dst_strides, std::byte const* src,
                  std::int64_t const* src_strides) noexcept;

}  // namespace hocket::detail
