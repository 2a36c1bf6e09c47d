// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <hocket/tensor/dtype.hpp>

namespace hocket {

/// How elements of several ranks become one.
/// Integers wrap. `average` is the sum divided by the number of ranks. `min` and `max` are NaN
/// where any element is. f16 and bf16 accumulate in f32 and are rounded once.
enum class reduction : std::uint8_t { sum, product, min, max, average, bit_and, bit_or, bit_xor };

/// How many reductions there are; they are numbered from 0.
inline constexpr int reduction_count = 8;

/// As messages spell it: "sum".
[[nodiscard]] char const* name_of(reduction r) noexcept;

/// Whether the reduction has a meaning for elements of the dtype:
///
///             | sum, product | min, max | average | bit_and, bit_or | bit_xor
/// ------------|--------------|----------|---------|-----------------|--------
/// bool        |              | yes      |         | yes             |
/// integers    | yes          | yes      |         | yes             | yes
/// f16 to f64  | yes          | yes      | yes     |                 |
/// complex     | yes          |          | yes     |                 |
/// f8          |              |          |         |                 |
[[nodiscard]] bool is_reducible(dtype type, reduction how) noexcept;

}  // namespace hocket
