// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <hocket/tensor/tensor.hpp>

namespace hocket {

/// Copies the elements of `src` to `dst`: same shape and dtype, any strides, host memory.
/// The two must not overlap. Throws errc::invalid_argument with both shapes or dtypes.
void copy(tensor const& dst, tensor const& src);
/// As above into storage leased by the caller.
void copy(tensor const& dst, tensor const& src, write_lease const& lease);

/// Writes nbytes() of elements in row-major order to `to`.
void pack(tensor const& src, std::byte* to);

/// Reads nbytes() of elements in row-major order from `from`.
void unpack(tensor const& dst, std::byte const* from);
/// As above into storage leased by the caller.
void unpack(tensor const& dst, std::byte const* from, write_lease const& lease);

}  // namespace hocket
