// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>

namespace hocket {

/// How large an object may be, for its sender and for its receivers.
class object_limits {
 public:
  object_limits() = default;

  /// The encoded bytes, header included; tensors travel beside them and do not count.
  /// Default: 1 GiB.
  object_limits& bytes_max(std::uint64_t bytes) {
    bytes_max_ = bytes;
    return *this;
  }
  /// How deep structs and containers may lie within each other. Each level is a level of recursion,
  /// for both sides. Default: 64.
  object_limits& depth_max(std::uint32_t levels) {
    depth_max_ = levels;
    return *this;
  }

  /// Bytes of one encoded object.
  [[nodiscard]] std::uint64_t bytes_max() const noexcept { return bytes_max_; }
  /// Levels of structs and containers.
  [[nodiscard]] std::uint32_t depth_max() const noexcept { return depth_max_; }

 private:
  std::uint64_t bytes_max_ = std::uint64_t{1} << 30;
  std::uint32_t depth_max_ = 64;
};

}  // namespace hocket
