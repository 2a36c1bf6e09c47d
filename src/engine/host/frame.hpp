// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace hocket::host {

/// What one process tells another. Every frame is a head, `extra_bytes` of description and
/// `payload_bytes` of data. Little-endian, as all machines that this engine runs on.
enum class frame_kind : std::uint8_t {
  call,     ///< a rank calls an operation; extra: shapes, site; payload: what is small enough
  failed,   ///< the same, but the rank cannot take part; extra: the story
  fetch,    ///< asks for bytes that a call has exposed
  data,     ///< some of them
  fetched,  ///< the sender of this frame needs the exposed buffers of a call no more
  ready,    ///< the rank's slice of a result can be fetched
  outcome,  ///< how a message ended at its receiver; extra: the story of a failure
  gave_up,  ///< the rank does not wait at a monitored barrier any more
  join,     ///< a rank joins a group; extra: name and members
  refuse,   ///< a rank cannot join a group; extra: the story
  close_channel,
  leave,   ///< extra: why
  revoke,  ///< root: the member that began it; extra: why. Every member tells all others once
  mark,    ///< the mark that a call waited for has come: what it gives, as of a call; or failed
};

struct frame_head {
  static constexpr std::uint32_t right_magic = 0x31544b48;  // "HKT1"
  static constexpr std::size_t wire_bytes = 120;

  std::uint32_t magic = right_magic;
  frame_kind kind = frame_kind::call;
  std::uint8_t operation = 0;  ///< op_kind
  std::uint8_t dtype = 0;
  std::uint8_t reduction = 0;
  std::uint32_t flags = 0;
  std::int32_t rank = 0;  ///< the sender's place in the group
  std::uint64_t group = 0;
  std::uint64_t channel = 0;
  std::uint64_t sequence = 0;
  std::int32_t root = -1;  ///< or the peer of a message
  std::uint32_t code = 0;  ///< errc of a failure; of `ready`: the sender's seal
  std::int64_t count = 0;
  std::uint64_t shape_hash = 0;
  std::uint64_t plan_hash = 0;
  std::uint64_t tag = 0;      ///< of a message; of `fetch`, `data`: which transfer
  std::uint64_t address = 0;  ///< the exposure; of `data`: where the bytes go in the transfer
  std::uint64_t bytes = 0;    ///< of a call: hash of the object's type; of `fetch`: how many
  std::uint64_t handle = 0;   ///< of a message or marked call, as its sender counts them
  double factor = 1;          ///< of a premultiplied sum
  std::uint32_t payload_bytes = 0;
  std::uint32_t extra_bytes = 0;
};
static_assert(sizeof(frame_head) == frame_head::wire_bytes &&
              std::is_trivially_copyable_v<frame_head>);

namespace frame_flags {
inline constexpr std::uint32_t has_shape = 1;
inline constexpr std::uint32_t takes_any_shape = 2;
inline constexpr std::uint32_t is_inline = 8;   ///< the payload is all that the call gives
inline constexpr std::uint32_t is_marked = 16;  ///< what it gives is said by a `mark` that follows
inline constexpr std::uint32_t of_transfer =
    1;  ///< of `refuse`: the rest of a transfer, not a join
}  // namespace frame_flags

/// The most that may follow a head: a peer that says more is cut off.
inline constexpr std::size_t extra_bytes_max = 1024 * 1024;
/// What a call gives travels with it up to so many bytes.
inline constexpr std::size_t inline_bytes_max = 8 * 1024;
/// Large payloads travel in frames of so many bytes, so that others get a turn between them.
inline constexpr std::size_t chunk_bytes_max = 256 * 1024;

/// Empty if the head may be believed so far that the rest of the frame can be read.
[[nodiscard]] std::string fault_of(frame_head const& head);

[[nodiscard]] char const* name_of(frame_kind k) noexcept;

}  // namespace hocket::host
