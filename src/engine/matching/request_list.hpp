// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/group/request.hpp>
#include <utility>

namespace hocket::matching {

/// Requests in the order of their calls.
class request_list {
 public:
  request_list() = default;
  request_list(request_list const&) = delete;
  request_list& operator=(request_list const&) = delete;

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] request const* first() const noexcept { return first_; }
  void push(request& r) noexcept {
    r.next = nullptr;
    *last_ = &r;
    last_ = &r.next;
  }
  /// Takes out the first for which `wanted` holds; null if none does.
  template <class Predicate>
  request* take(Predicate wanted) noexcept {
    for (request** at = &first_; *at != nullptr; at = &(*at)->next)
      if (wanted(**at)) return unlink(at);
    return nullptr;
  }
  request* take_first() noexcept { return first_ == nullptr ? nullptr : unlink(&first_); }
  /// False: it was not in the list.
  bool remove(request& r) noexcept {
    return take([&r](request const& other) { return &other == &r; }) != nullptr;
  }
  /// `by` stands where `r` stood. False: `r` was not in the list.
  bool replace(request& r, request& by) noexcept {
    for (request** at = &first_; *at != nullptr; at = &(*at)->next) {
      if (*at != &r) continue;
      by.next = std::exchange(r.next, nullptr);
      *at = &by;
      if (last_ == &r.next) last_ = &by.next;
      return true;
    }
    return false;
  }

 private:
  request* unlink(request** at) noexcept {
    request* const r = *at;
    *at = r->next;
    if (last_ == &r->next) last_ = at;
    r->next = nullptr;
    return r;
  }

  request* first_ = nullptr;
  request** last_ = &first_;
};

}  // namespace hocket::matching
