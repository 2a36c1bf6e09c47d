// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <hocket/group/request.hpp>
#include <span>
#include <string>
#include <vector>

#include "out_link.hpp"
#include "remote_call.hpp"

namespace hocket::host {

/// What the members are told of one call, and what each of them may have of it.
class announcement {
 public:
  /// Of a call that has its number. Until its mark has come its buffers are not looked at:
  /// `is_marked`. `in_slices`: each member gets all, to reduce a slice of it.
  explicit announcement(request& r, bool is_marked = false, bool in_slices = false);

  /// What the call gives to a member: tensors in one piece each, none for nothing.
  [[nodiscard]] std::vector<tensor> gifts(int to) const;
  /// Whether it gives anybody tensors at all.
  [[nodiscard]] bool gives(int to) const noexcept;

  /// The frame for one member. Small gifts travel in it; else the member fetches them from
  /// `exposure`. `handle` is the sender's own of a message.
  [[nodiscard]] letter letter_for(std::uint64_t group, std::span<tensor const> gifts,
                                  bool is_inline, std::uint64_t exposure,
                                  std::uint64_t handle) const;
  /// The frame that says what a marked call gives, now that its mark has come.
  [[nodiscard]] letter mark_for(std::uint64_t group, std::span<tensor const> gifts, bool is_inline,
                                std::uint64_t exposure, std::uint64_t handle) const;
  /// The same of a call that cannot take part.
  [[nodiscard]] letter failed_mark_for(std::uint64_t group, detail::failure const& why,
                                       std::uint64_t handle) const;

 private:
  [[nodiscard]] frame_head head_for(frame_kind kind, std::uint64_t group,
                                    std::uint64_t handle) const;

  request const& call_;
  bool const is_marked_;
  bool const in_slices_;
  tensor source_;  // the input, safe from what is written to the output
};

/// Up to so many bytes travel with a call to `receivers` members.
[[nodiscard]] bool fits_inline(std::size_t bytes, int receivers) noexcept;
[[nodiscard]] std::size_t bytes_of(std::span<tensor const> gifts);

/// How a failure's code is told, and what was told. A code of the system's, which another library
/// may number otherwise, becomes `errc::peer_failed`.
[[nodiscard]] std::uint32_t wire_code(boost::system::error_code code) noexcept;
[[nodiscard]] errc code_of_wire(std::uint32_t code);

/// What a call gives, as a frame says it.
struct told_gifts {
  std::vector<given> gives;
  std::vector<tensor> items;  ///< all of them, if they came with the frame
  bool is_here = false;
  std::uint64_t exposure = 0;
  std::uint32_t seal = 0;  ///< the giver's, before the addresses were true for others
  /// Hands them to the call.
  void move_to(remote_call& c) &&;
};
/// Of a `mark` that does not say that the call has failed. `errc::corrupt` for what no member says.
[[nodiscard]] told_gifts read_mark(frame_head const& head, std::span<std::byte const> extra,
                                   std::span<std::byte const> payload);

/// The call that a frame announces. `errc::corrupt` for what no member says.
[[nodiscard]] boost::intrusive_ptr<remote_call> read_announcement(
    frame_head const& head, std::span<std::byte const> extra, std::span<std::byte const> payload,
    std::string const& group, int members);

}  // namespace hocket::host
