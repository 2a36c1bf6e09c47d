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
  /// Of a call that has its number and is not submitted yet.
  explicit announcement(request& r, bool in_slices = false);
  /// Whether each member gets all, to reduce a slice of it.
  [[nodiscard]] bool in_slices() const noexcept { return in_slices_; }

  /// What the call gives to a member: tensors in one piece each, none for nothing.
  [[nodiscard]] std::vector<tensor> gifts(int to) const;
  /// Whether it gives anybody tensors at all.
  [[nodiscard]] bool gives(int to) const noexcept;

  /// The frame for one member. Small gifts travel in it; else the member fetches them from
  /// `exposure`. `handle` is the sender's own of a message.
  [[nodiscard]] letter letter_for(std::uint64_t group, std::span<tensor const> gifts,
                                  bool is_inline, std::uint64_t exposure,
                                  std::uint64_t handle) const;

 private:
  request const& call_;
  bool const in_slices_;
  tensor source_;  // the input, safe from what is written to the output
};

/// Up to so many bytes travel with a call to `receivers` members.
[[nodiscard]] bool fits_inline(std::size_t bytes, int receivers) noexcept;
[[nodiscard]] std::size_t bytes_of(std::span<tensor const> gifts);

/// The call that a frame announces. `errc::corrupt` for what no member says.
[[nodiscard]] boost::intrusive_ptr<remote_call> read_announcement(
    frame_head const& head, std::span<std::byte const> extra, std::span<std::byte const> payload,
    std::string const& group, int members);

}  // namespace hocket::host
