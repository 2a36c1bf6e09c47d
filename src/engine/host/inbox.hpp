// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <hocket/async/detail/op_base.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exposure.hpp"
#include "frame.hpp"

namespace hocket::host {

/// Something that has happened on the connections and is handled once the fabric's lock is
/// released: a frame, the end of a transfer, or the loss of a peer.
struct received {
  int from = -1;
  frame_head head;
  std::vector<std::byte> body;        ///< extra, then payload
  arrival* then = nullptr;            ///< set: a transfer has ended, with `failure`
  note_listener* listener = nullptr;  ///< set: what a taker says, in `said`
  note said;
  bool is_loss = false;  ///< the peer is gone: `why`
  detail::failure failure;
  std::string why;
};

/// What has been received, in order. Keeps the memory of what it held.
class inbox {
 public:
  received& add() {
    if (used_ == items_.size()) items_.emplace_back();
    received& r = items_[used_++];
    r.body.clear();
    r.then = nullptr;
    r.listener = nullptr;
    r.is_loss = false;
    r.failure = {};
    return r;
  }
  [[nodiscard]] std::span<received> items() noexcept { return {items_.data(), used_}; }
  [[nodiscard]] bool empty() const noexcept { return used_ == 0; }
  void clear() noexcept { used_ = 0; }
  friend void swap(inbox& a, inbox& b) noexcept {
    a.items_.swap(b.items_);
    std::swap(a.used_, b.used_);
  }

 private:
  std::vector<received> items_;
  std::size_t used_ = 0;
};

}  // namespace hocket::host
