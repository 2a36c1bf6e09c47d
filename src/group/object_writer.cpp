// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <group/crc32c.hpp>
#include <group/object_frame.hpp>
#include <hocket/detail/assert.hpp>
#include <hocket/error.hpp>
#include <hocket/group/detail/object_writer.hpp>
#include <hocket/group/object_header.hpp>
#include <utility>

namespace hocket::detail {

object_writer::object_writer(object_limits const& limits) : limits_(limits) {
  room(object_header_bytes);  // filled in by `finish`
}

parcel object_writer::finish() && {
  HOCKET_ASSERT(depth_ == 0);
  put_table();
  std::span<std::byte const> const payload(data_ + object_header_bytes,
                                           size_ - object_header_bytes);
  object_header h;
  h.payload_bytes = payload.size();
  h.tensor_count = tensors_.size();
  h.payload_crc = crc32c(payload);
  store(data_, encode_object_header(h));
  parcel p;
  p.bytes = buffer_.slice(0, 0, static_cast<std::int64_t>(size_));
  p.tensors = std::move(tensors_);
  return p;
}

void object_writer::put_table() {
  for (tensor const& t : tensors_) put_tensor_row(room(tensor_row_bytes), t.dtype(), t.shape());
}

void object_writer::raw(std::span<std::byte const> bytes) {
  std::byte* const to = room(bytes.size());
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
}

void object_writer::blob(wire_tag t, std::span<std::byte const> bytes) {
  tag(t);
  number(std::uint64_t{bytes.size()});
  raw(bytes);
}

void object_writer::attach(tensor const& t) {
  if (!t.defined()) return tag(wire_tag::no_tensor);
  tag(wire_tag::tensor);
  number(std::uint64_t{tensors_.size()});
  tensors_.push_back(t);
}

void object_writer::enter() {
  if (depth_ == limits_.depth_max())
    throw error(errc::too_large, fmt::format("object: {} levels of structs and containers, at most "
                                             "{} allowed",
                                             std::uint64_t{depth_} + 1, limits_.depth_max()));
  ++depth_;
}

std::size_t object_writer::begin_struct() {
  tag(wire_tag::structure);
  std::size_t const outer = version_at_;
  version_at_ = size_;
  number(std::uint32_t{0});
  return outer;
}

void object_writer::end_struct(std::size_t outer) {
  number(std::uint8_t{0});
  version_at_ = outer;
}

std::uint32_t object_writer::version(std::uint32_t current, std::uint32_t) {
  store(data_ + version_at_, current);
  return current;
}

void object_writer::field(std::string_view name) {
  if (name.empty() || name.size() > 255)
    throw error(errc::invalid_argument,
                fmt::format("object: a field name of {} bytes, 1 to 255 allowed: \"{}\"",
                            name.size(), name));
  number(static_cast<std::uint8_t>(name.size()));
  raw(std::as_bytes(std::span(name.data(), name.size())));
}

void object_writer::grow(std::size_t n) {
  std::uint64_t const max = limits_.bytes_max();
  if (size_ > max || n > max - size_)
    throw error(errc::too_large, fmt::format("object: {} bytes and more, at most {} allowed",
                                             std::uint64_t{size_} + n, max));
  // What follows a large value is mostly small: leave it some room.
  std::uint64_t const roomy =
      std::max<std::uint64_t>(2 * std::uint64_t{capacity_}, size_ + n + 480);
  auto const capacity = static_cast<std::size_t>(std::min(roomy, max));
  tensor larger = tensor::empty(dtype::u8, shape(capacity));
  std::byte* const to = larger.bytes();
  if (size_ != 0) std::memcpy(to, data_, size_);
  buffer_ = std::move(larger);
  data_ = to;
  capacity_ = capacity;
}

}  // namespace hocket::detail
