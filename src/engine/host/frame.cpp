// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "frame.hpp"

#include <fmt/format.h>

namespace hocket::host {

char const* name_of(frame_kind k) noexcept {
  switch (k) {
    case frame_kind::call:
      return "call";
    case frame_kind::failed:
      return "failed";
    case frame_kind::fetch:
      return "fetch";
    case frame_kind::data:
      return "data";
    case frame_kind::fetched:
      return "fetched";
    case frame_kind::ready:
      return "ready";
    case frame_kind::outcome:
      return "outcome";
    case frame_kind::gave_up:
      return "gave_up";
    case frame_kind::join:
      return "join";
    case frame_kind::refuse:
      return "refuse";
    case frame_kind::close_channel:
      return "close_channel";
    case frame_kind::leave:
      return "leave";
    case frame_kind::revoke:
      return "revoke";
    case frame_kind::mark:
      return "mark";
  }
  return nullptr;
}

std::string fault_of(frame_head const& head) {
  if (head.magic != frame_head::right_magic)
    return fmt::format("a frame begins with {:#010x}, not with {:#010x}", head.magic,
                       frame_head::right_magic);
  if (name_of(head.kind) == nullptr)
    return fmt::format("frame kind {} does not exist", static_cast<int>(head.kind));
  if (head.extra_bytes > extra_bytes_max)
    return fmt::format("a {} frame has {} bytes of description, at most {} are allowed",
                       name_of(head.kind), head.extra_bytes, extra_bytes_max);
  bool const gives = head.kind == frame_kind::call || head.kind == frame_kind::mark;
  auto const payload_max = gives                           ? inline_bytes_max
                           : head.kind == frame_kind::data ? chunk_bytes_max
                                                           : std::size_t{0};
  if (head.payload_bytes > payload_max)
    return fmt::format("a {} frame has {} bytes of data, at most {} are allowed",
                       name_of(head.kind), head.payload_bytes, payload_max);
  return {};
}

}  // namespace hocket::host
