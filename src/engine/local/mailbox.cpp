// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "mailbox.hpp"

#include <algorithm>

namespace hocket::local {

void request_list::push(request& r) noexcept {
  r.next = nullptr;
  *last_ = &r;
  last_ = &r.next;
}

request* mailbox::take_recv(int sender, std::uint64_t tag) noexcept {
  return recvs.take([&](request const& r) {
    return r.tag == tag && (r.peer == sender || r.peer == request::any_peer);
  });
}

request* mailbox::take_send(request const& recv) noexcept {
  return sends.take([&](request const& s) {
    return s.tag == recv.tag && (recv.peer == s.rank || recv.peer == request::any_peer);
  });
}

bool mailbox::take_failed(request const& recv, detail::failure& why) {
  auto const note = std::ranges::find_if(failed, [&](failed_send const& f) {
    return f.tag == recv.tag && (recv.peer == f.sender || recv.peer == request::any_peer);
  });
  if (note == failed.end()) return false;
  why = std::move(note->why);
  failed.erase(note);
  return true;
}

}  // namespace hocket::local
