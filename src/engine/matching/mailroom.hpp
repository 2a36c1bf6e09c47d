// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <exception>
#include <functional>
#include <vector>

#include "decisions.hpp"
#include "request_list.hpp"
#include "roster.hpp"

namespace hocket::matching {

/// The messages of one channel on their way: sends and receives that wait for each other.
///
/// A call that failed on its own rank leaves a *note* in its place (a request without an op), so
/// that the peer's call in the same place of the order fails, not the next one.
/// All calls under the hub's lock.
class mailroom {
 public:
  explicit mailroom(attendance const& members);
  ~mailroom();

  void send(request& r, decisions& d);
  void recv(request& r, decisions& d);
  /// Takes back a receive that is not matched yet. False: it is.
  bool withdraw(request& r) noexcept;
  /// The buffers of `r` may be touched from now on; or never, because of `e`.
  void buffers_ready(request& r, std::exception_ptr const& e, decisions& d);
  void member_left(int rank, decisions& d);
  void end_all(std::function<detail::failure(request const&)> const& why, decisions& d);
  /// The receives of a member that wait for a message.
  template <class Function>
  void for_each_recv(int rank, Function f) const {
    for (request const* r = boxes_[static_cast<std::size_t>(rank)].recvs.first(); r != nullptr;
         r = r->next)
      if (r->op != nullptr) f(*r);
  }
  /// No matched pair waits for its buffers.
  [[nodiscard]] bool idle() const noexcept { return matched_.empty(); }

 private:
  struct box {
    request_list sends;
    request_list recvs;
  };
  box& box_of(int rank) noexcept { return boxes_[static_cast<std::size_t>(rank)]; }
  void pair(request& send, request& recv, decisions& d);
  void fail_with_note(request& r, request_list& list, bool listed, decisions& d);

  attendance const& members_;
  std::vector<box> boxes_;  // by receiving member
  request_list matched_;    // the sends of pairs whose buffers may not be touched yet
};

}  // namespace hocket::matching
