// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/async/detail/op_base.hpp>
#include <hocket/group/request.hpp>
#include <vector>

namespace hocket::local {

/// Requests in the order of their calls.
class request_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] request* first() const noexcept { return first_; }
  void push(request& r) noexcept;
  /// Takes out the first for which `wanted` holds; null if none does.
  template <class Predicate>
  request* take(Predicate wanted) noexcept {
    for (request** at = &first_; *at != nullptr; at = &(*at)->next) {
      request* const r = *at;
      if (!wanted(*r)) continue;
      *at = r->next;
      if (last_ == &r->next) last_ = at;
      r->next = nullptr;
      return r;
    }
    return nullptr;
  }

 private:
  request* first_ = nullptr;
  request** last_ = &first_;
};

/// Messages to one member of a channel that are not matched yet.
class mailbox {
 public:
  mailbox() = default;
  mailbox(mailbox&&) = delete;

  /// The receive that a message from `sender` matches, taken out; null: none yet.
  request* take_recv(int sender, std::uint64_t tag) noexcept;
  /// The message that a receive matches, taken out; null: none yet.
  request* take_send(request const& recv) noexcept;

  /// A send that failed at its caller, for the receive that will ask for it.
  struct failed_send {
    int sender;
    std::uint64_t tag;
    detail::failure why;
  };
  /// The note that a receive matches, taken out.
  bool take_failed(request const& recv, detail::failure& why);

  request_list sends;
  request_list recvs;
  std::vector<failed_send> failed;
};

}  // namespace hocket::local
