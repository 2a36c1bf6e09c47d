// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <algorithm>
#include <group/crc32c.hpp>
#include <group/object_frame.hpp>
#include <hocket/error.hpp>
#include <hocket/group/detail/object_wire.hpp>
#include <hocket/group/object_header.hpp>

namespace hocket {
namespace {

constexpr std::array<char, 4> magic = {'H', 'K', 'O', 'B'};
constexpr std::uint16_t format_version = 1;
constexpr std::size_t version_at = 4;
constexpr std::size_t flags_at = 6;
constexpr std::size_t payload_at = 8;
constexpr std::size_t tensors_at = 16;
constexpr std::size_t payload_crc_at = 24;
constexpr std::size_t header_crc_at = 28;

}  // namespace

std::array<std::byte, object_header_bytes> encode_object_header(object_header const& h) noexcept {
  std::array<std::byte, object_header_bytes> bytes{};
  std::byte* const to = bytes.data();
  detail::store(to, magic);
  detail::store(to + version_at, format_version);
  detail::store(to + flags_at, std::uint16_t{0});
  detail::store(to + payload_at, h.payload_bytes);
  detail::store(to + tensors_at, h.tensor_count);
  detail::store(to + payload_crc_at, h.payload_crc);
  detail::store(to + header_crc_at, detail::crc32c(std::span(bytes).first(header_crc_at)));
  return bytes;
}

object_header decode_object_header(std::span<std::byte const> front) {
  if (front.size() < object_header_bytes)
    throw error(errc::corrupt, fmt::format("object: {} bytes, its header alone has {}",
                                           front.size(), object_header_bytes));
  std::byte const* const from = front.data();
  if (detail::load<std::array<char, 4>>(from) != magic)
    throw error(errc::corrupt, fmt::format("object: begins with {:#010x}, not with \"HKOB\"",
                                           detail::load<std::uint32_t>(from)));
  auto const stated = detail::load<std::uint32_t>(from + header_crc_at);
  auto const found = detail::crc32c(front.first(header_crc_at));
  if (stated != found)
    throw error(
        errc::corrupt,
        fmt::format("object: CRC of the header is {:#010x}, it says {:#010x}", found, stated));
  auto const version = detail::load<std::uint16_t>(from + version_at);
  auto const flags = detail::load<std::uint16_t>(from + flags_at);
  if (version != format_version || flags != 0)
    throw error(errc::mismatch,
                fmt::format("object: format {} with flags {:#06x}, this library reads format {} "
                            "with flags 0x0000",
                            version, flags, format_version));
  object_header h;
  h.payload_bytes = detail::load<std::uint64_t>(from + payload_at);
  h.tensor_count = detail::load<std::uint64_t>(from + tensors_at);
  h.payload_crc = detail::load<std::uint32_t>(from + payload_crc_at);
  return h;
}

std::vector<tensor_form> tensors_of(std::span<std::byte const> object,
                                    object_limits const& limits) {
  auto const frame = detail::check_frame(object, limits);
  std::vector<tensor_form> forms;
  forms.reserve(frame.header.tensor_count);
  for (std::uint64_t i = 0; i < frame.header.tensor_count; ++i)
    forms.push_back(detail::tensor_row(object, frame.table_at, i));
  return forms;
}

namespace detail {

void put_tensor_row(std::byte* row, dtype type, shape const& extents) noexcept {
  std::fill_n(row, tensor_row_bytes, std::byte{0});
  store(row, type);
  store(row + 1, static_cast<std::uint8_t>(extents.size()));
  for (std::size_t d = 0; d < extents.size(); ++d) store(row + 8 + 8 * d, extents[d]);
}

tensor_form tensor_row(std::span<std::byte const> object, std::size_t table_at,
                       std::uint64_t index) {
  std::size_t const at = table_at + static_cast<std::size_t>(index) * tensor_row_bytes;
  std::byte const* const row = object.data() + at;
  auto const refuse = [&](std::string_view what, std::int64_t value) {
    throw error(errc::corrupt,
                fmt::format("object: {} {} of tensor {} at byte {}", what, value, index, at));
  };
  auto const type = load<std::uint8_t>(row);
  auto const ndim = load<std::uint8_t>(row + 1);
  if (!is_dtype(type)) refuse("dtype", type);
  if (ndim > shape::ndim_max) refuse("dimensions", ndim);
  tensor_form form;
  form.dtype = static_cast<dtype>(type);
  for (std::size_t d = 0; d < shape::ndim_max; ++d) {
    auto const extent = load<std::int64_t>(row + 8 + 8 * d);
    if (extent < 0 || (d >= ndim && extent != 0)) refuse("extent", extent);
    if (d < ndim) form.shape.append(extent);
  }
  for (std::size_t i = 2; i < 8; ++i)
    if (row[i] != std::byte{0}) refuse("padding", static_cast<std::int64_t>(row[i]));
  return form;
}

object_frame check_frame(std::span<std::byte const> object, object_limits const& limits) {
  object_frame frame;
  frame.header = decode_object_header(object);
  std::uint64_t const payload = frame.header.payload_bytes;
  if (limits.bytes_max() < object_header_bytes ||
      payload > limits.bytes_max() - object_header_bytes)
    throw error(errc::too_large,
                fmt::format("object: a payload of {} bytes and a header of {}, at most {} allowed",
                            payload, object_header_bytes, limits.bytes_max()));
  if (object.size() - object_header_bytes != payload)
    throw error(errc::corrupt, fmt::format("object: {} bytes of payload, its header says {}",
                                           object.size() - object_header_bytes, payload));
  if (frame.header.tensor_count > payload / tensor_row_bytes)
    throw error(errc::corrupt,
                fmt::format("object: {} tensors, a payload of {} bytes has room for {}",
                            frame.header.tensor_count, payload, payload / tensor_row_bytes));
  auto const found = crc32c(object.subspan(object_header_bytes));
  if (found != frame.header.payload_crc)
    throw error(errc::corrupt, fmt::format("object: CRC of the payload is {:#010x}, the header "
                                           "says {:#010x}",
                                           found, frame.header.payload_crc));
  frame.table_at =
      object.size() - static_cast<std::size_t>(frame.header.tensor_count) * tensor_row_bytes;
  return frame;
}

}  // namespace detail
}  // namespace hocket
