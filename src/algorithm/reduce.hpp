// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <hocket/tensor/dtype.hpp>
#include <hocket/tensor/reduction.hpp>
#include <span>

namespace hocket::algorithm {

/// Reduces `count` contiguous elements of every input, in the order of the inputs, and writes the
/// result to every output: the same bits for the same inputs, always.
/// `factors`: of a premultiplied sum, one for each input; else empty.
/// An output may be one of the inputs, exactly; else they must not overlap.
/// The reduction must be one that `is_reducible`.
void reduce(reduction how, dtype type, std::span<std::byte const* const> inputs,
            std::span<std::byte* const> outputs, std::int64_t count,
            std::span<double const> factors = {});

}  // namespace hocket::algorithm
