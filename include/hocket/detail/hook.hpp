// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

namespace hocket::detail {

/// A link of a circular list; an unlinked one points to itself, and a bare one is a list's head.
/// `unlink` needs no list: who holds the lock of the list it is in may call it.
struct hook {
  hook* prev = this;
  hook* next = this;

  hook() = default;
  hook(hook const&) = delete;
  hook& operator=(hook const&) = delete;

  [[nodiscard]] bool linked() const noexcept { return next != this; }
  void unlink() noexcept {
    prev->next = next;
    next->prev = prev;
    prev = next = this;
  }
  void push_back(hook& h) noexcept {
    h.prev = prev;
    h.next = this;
    prev->next = &h;
    prev = &h;
  }
};

}  // namespace hocket::detail
