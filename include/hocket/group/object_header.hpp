// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <hocket/group/object_limits.hpp>
#include <hocket/tensor/dtype.hpp>
#include <hocket/tensor/shape.hpp>
#include <span>
#include <vector>

namespace hocket {

/// On every machine; numbers are little-endian.
inline constexpr std::size_t object_header_bytes = 32;

/// The front of every encoded object. On the wire, all little endian: "HKOB", u16 format 1,
/// u16 flags 0, u64 payload length, u64 tensors, u32 CRC-32C of the payload, u32 CRC-32C of the
/// 28 bytes before it. The payload follows: the value, then one table row of 72 bytes a tensor.
struct object_header {
  /// Without the header and without the tensors.
  std::uint64_t payload_bytes = 0;
  /// Tensors that travel beside it.
  std::uint64_t tensor_count = 0;
  /// CRC-32C of the payload.
  std::uint32_t payload_crc = 0;

  /// Equal in all three.
  friend bool operator==(object_header const&, object_header const&) = default;
};

/// The bytes that travel, both checksums included.
[[nodiscard]] std::array<std::byte, object_header_bytes> encode_object_header(
    object_header const& h) noexcept;

/// Reads the header from the first bytes of an object, before the rest has come.
/// Throws errc::corrupt; lengths are not checked against a limit.
[[nodiscard]] object_header decode_object_header(std::span<std::byte const> front);

/// A tensor that an object holds.
struct tensor_form {
  /// Of its elements.
  hocket::dtype dtype = hocket::dtype::u8;
  /// The outermost extent first.
  hocket::shape shape;
};

/// What tensors an encoded object holds, in the order of `parcel::tensors`, so that a receiver can
/// make room for them. Checks the frame as decode_object does, and throws the same.
[[nodiscard]] std::vector<tensor_form> tensors_of(std::span<std::byte const> object,
                                                  object_limits const& limits = object_limits());

}  // namespace hocket
