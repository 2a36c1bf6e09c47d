// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>

namespace hocket {

/// How elements of several ranks become one.
enum class reduction : std::uint8_t { sum, product, min, max, average, bit_and, bit_or, bit_xor };

[[nodiscard]] char const* name_of(reduction r) noexcept;

}  // namespace hocket
