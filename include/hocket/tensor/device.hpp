// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <string>

namespace hocket {

/// Kinds of memory.
enum class device_kind : std::uint8_t { host, cuda };

/// Where a storage lives.
struct device {
  /// Whose memory it is.
  device_kind kind = device_kind::host;
  std::int32_t index = 0;  ///< the CUDA ordinal; 0 for the host

  /// Whether the CPU reads and writes it by address.
  [[nodiscard]] constexpr bool is_host() const noexcept { return kind == device_kind::host; }
  /// The same kind and index.
  friend constexpr bool operator==(device const&, device const&) = default;
};

/// "host", "cuda:0".
[[nodiscard]] std::string to_string(device d);

}  // namespace hocket
