// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <hocket/group/detail/window.hpp>
#include <mutex>

namespace hocket::detail {

bool window::enter(window_place& p) noexcept {
  std::lock_guard const lock(lock_);
  auto const ops = inside_.ops + behind_.ops;
  auto const bytes = inside_.bytes + behind_.bytes;
  if (ops != 0 && (ops >= 2 * limits_.ops || bytes + p.bytes > 2 * limits_.bytes)) return false;
  p.counted = true;
  p.inside = behind_.ops == 0 && fits_inside(p.bytes);
  if (p.inside) {
    inside_.add(p.bytes);
  } else {
    behind_.add(p.bytes);
    waiting_.push_back(p);
    p.op->begin_unposted();  // under the lock: the next to end may post it
  }
  return true;
}

void window::leave(window_place& p) noexcept {
  if (!p.counted) return;
  for (bool first = true;; first = false) {
    op_ref next;
    {
      std::lock_guard const lock(lock_);
      if (first) {
        (p.inside ? inside_ : behind_).remove(p.bytes);
        p.unlink();
      }
      if (!waiting_.linked()) return;
      auto& head = *static_cast<window_place*>(waiting_.next);
      if (!fits_inside(head.bytes)) return;
      head.unlink();
      head.inside = true;
      behind_.remove(head.bytes);
      inside_.add(head.bytes);
      next = op_ref(head.op);  // it leaves before its last reference goes
    }
    next->mark_posted();
  }
}

std::string window::story() const {
  std::lock_guard const lock(lock_);
  return fmt::format(
      "{} operations of {} bytes are under way on this channel, twice its window of {} operations "
      "and {} bytes; await posted() before you go on",
      inside_.ops + behind_.ops, inside_.bytes + behind_.bytes, limits_.ops, limits_.bytes);
}

}  // namespace hocket::detail
