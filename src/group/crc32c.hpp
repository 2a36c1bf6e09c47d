// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hocket::detail {

/// CRC-32C (Castagnoli), as in RFC 3720; uses the processor's instruction where there is one.
[[nodiscard]] std::uint32_t crc32c(std::span<std::byte const> bytes) noexcept;

/// The same without that instruction.
[[nodiscard]] std::uint32_t crc32c_portable(std::span<std::byte const> bytes) noexcept;

}  // namespace hocket::detail
