// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/crc.hpp>
#include <cstddef>
#include <cstdint>
#include <hocket/group/object.hpp>
#include <hocket/group/object_header.hpp>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace support {

/// CRC-32C by another implementation than the library's.
inline std::uint32_t crc32c(std::span<std::byte const> bytes) {
  boost::crc_optimal<32, 0x1edc6f41, 0xffffffff, 0xffffffff, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

/// A parcel of exactly these bytes, so that a read past them meets the address sanitizer.
inline hocket::parcel parcel_of(std::span<std::byte const> bytes,
                                std::vector<hocket::tensor> tensors = {}) {
  auto const held = std::make_shared<std::vector<std::uint8_t>>();
  held->reserve(bytes.size());
  for (std::byte const b : bytes) held->push_back(static_cast<std::uint8_t>(b));
  hocket::parcel p;
  p.bytes = hocket::tensor::borrow(std::span(*held), hocket::shape(bytes.size()), held);
  p.tensors = std::move(tensors);
  return p;
}

/// A payload behind a header that is right for it.
inline hocket::parcel sealed(std::span<std::byte const> payload,
                             std::vector<hocket::tensor> tensors = {}) {
  hocket::object_header h;
  h.payload_bytes = payload.size();
  h.tensor_count = tensors.size();
  h.payload_crc = crc32c(payload);
  auto const front = hocket::encode_object_header(h);
  std::vector<std::byte> bytes(front.begin(), front.end());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return parcel_of(bytes, std::move(tensors));
}

inline std::vector<std::byte> bytes_of(hocket::parcel const& p) {
  auto const bytes = std::as_bytes(p.bytes.as_span<std::uint8_t>());
  return {bytes.begin(), bytes.end()};
}

}  // namespace support
