// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "mailroom.hpp"

#include <fmt/format.h>

#include <hocket/error.hpp>
#include <memory>
#include <utility>

#include "hub.hpp"

namespace hocket::matching {
namespace {

using detail::failure;
using detail::make_failure;

bool is_note(request const& r) noexcept { return r.op == nullptr; }

std::unique_ptr<request> note_of(request const& r, roster const& members) {
  auto note = std::make_unique<request>();
  note->print = r.print;
  note->rank = r.rank;
  note->peer = r.peer;
  note->tag = r.tag;
  note->local = members.failed_peer(r);
  return note;
}

// Null: the receive can take what is sent.
char const* how_they_differ(request const& send, request const& recv) noexcept {
  bool const object = send.print.kind == op_kind::send_object;
  if (object != (recv.print.kind == op_kind::recv_object))
    return "one is an object, the other a tensor";
  if (object) {
    auto const sent = send.print.type_hash;
    auto const wanted = recv.print.type_hash;
    return sent != 0 && wanted != 0 && sent != wanted ? describe(difference::type) : nullptr;
  }
  if (recv.takes_any_shape) return nullptr;
  if (send.print.dtype != recv.print.dtype) return describe(difference::dtype);
  return send.print.count != recv.print.count ? describe(difference::shape) : nullptr;
}

void discard(request* r, failure const& why, decisions& d) {
  if (is_note(*r)) {
    delete r;
  } else {
    d.end(*r, why);
  }
}

}  // namespace

mailroom::mailroom(attendance const& members)
    : members_(members), boxes_(static_cast<std::size_t>(members.size())) {}

mailroom::~mailroom() {
  for (auto& b : boxes_)
    for (auto* list : {&b.sends, &b.recvs})
      while (request* const r = list->take_first())
        if (is_note(*r)) delete r;
}

void mailroom::send(request& r, decisions& d) {
  if (r.peer == request::any_peer) return d.end(r, r.local);  // its argument named no member
  box& b = box_of(r.peer);
  request* const recv = b.recvs.take([&r](request const& x) {
    return x.tag == r.tag && (x.peer == r.rank || x.peer == request::any_peer);
  });
  if (recv != nullptr) return pair(r, *recv, d);
  if (r.local.exception) return fail_with_note(r, b.sends, false, d);
  if (members_.is_gone(r.peer)) return d.end(r, members_.absent(r.peer, r));
  b.sends.push(r);
}

void mailroom::recv(request& r, decisions& d) {
  box& b = box_of(r.rank);
  bool const from_any = r.peer == request::any_peer;
  if (from_any && r.local.exception) return d.end(r, r.local);  // nobody in particular waits
  if (r.op->decided() != detail::verdict::pending &&
      !r.local.exception)  // cancelled before it came here
    return d.end(r, make_failure(operation_aborted(), "withdrawn"));
  request* const send = b.sends.take(
      [&](request const& x) { return x.tag == r.tag && (from_any || x.rank == r.peer); });
  if (send != nullptr) return pair(*send, r, d);
  if (r.local.exception) return fail_with_note(r, b.recvs, false, d);
  if (!from_any && members_.is_gone(r.peer)) return d.end(r, members_.absent(r.peer, r));
  if (from_any && members_.anyone_gone() && members_.is_deserted(r.rank)) {
    int const other = r.rank == 0 && members_.size() > 1 ? 1 : 0;
    return d.end(r, members_.absent(other, r));
  }
  b.recvs.push(r);
}

// Ends a call that failed on its own rank; the peer's call will meet the note.
void mailroom::fail_with_note(request& r, request_list& list, bool listed, decisions& d) {
  if (r.peer == request::any_peer) {
    if (listed) list.remove(r);
    return d.end(r, r.local);
  }
  auto note = note_of(r, members_.all());
  if (listed) {
    list.replace(r, *note.release());
  } else if (int const peer = r.peer; !members_.is_gone(peer)) {
    list.push(*note.release());
  }
  d.end(r, r.local);
}

void mailroom::pair(request& send, request& recv, decisions& d) {
  if (is_note(send) || is_note(recv)) {
    request& note = is_note(send) ? send : recv;
    request& call = is_note(send) ? recv : send;
    d.end(call, call.local.exception ? call.local : note.local);
    delete &note;
    return;
  }
  if (send.local.exception || recv.local.exception) {
    request& failed = send.local.exception ? send : recv;
    request& other = send.local.exception ? recv : send;
    d.end(other, other.local.exception ? other.local : members_.all().failed_peer(failed));
    return d.end(failed, failed.local);
  }
  if (auto const wrong = how_they_differ(send, recv)) {
    auto const f = make_failure(make_error_code(errc::mismatch),
                                fmt::format("{}: {}, {}: {}", members_.all().place(recv),
                                            describe(send), describe(recv), wrong));
    d.end(send, f);
    return d.end(recv, f);
  }
  if (send.buffers_ready && recv.buffers_ready) {
    send.decided = recv.decided = true;
    return d.run(send, recv);
  }
  send.first_sign(d.at().rt());
  recv.first_sign(d.at().rt());
  send.partner = &recv;
  recv.partner = &send;
  matched_.push(send);
}

bool mailroom::withdraw(request& r) noexcept { return box_of(r.rank).recvs.remove(r); }

void mailroom::buffers_ready(request& r, std::exception_ptr const& e, decisions& d) {
  bool const sends = is_send(r.print.kind);
  r.buffers_ready = true;
  if (r.partner == nullptr) {
    if (e) fail_with_note(r, sends ? box_of(r.peer).sends : box_of(r.rank).recvs, true, d);
    return;
  }
  if (!e && !r.partner->buffers_ready) return;
  request& send = sends ? r : *r.partner;
  request& recv = sends ? *r.partner : r;
  matched_.remove(send);
  pair(send, recv, d);
}

void mailroom::member_left(int rank, decisions& d) {
  while (request* const r = box_of(rank).sends.take_first())
    discard(r, is_note(*r) ? failure() : members_.absent(rank, *r), d);
  for (int at = 0; at < members_.size(); ++at) {
    bool const deserted = members_.is_deserted(at);
    auto const waits_in_vain = [&](request const& r) {
      return r.peer == rank || (deserted && r.peer == request::any_peer);
    };
    while (request* const r = box_of(at).recvs.take(waits_in_vain))
      discard(r, is_note(*r) ? failure() : members_.absent(rank, *r), d);
  }
}

void mailroom::end_all(std::function<failure(request const&)> const& why, decisions& d) {
  for (auto& b : boxes_)
    for (auto* list : {&b.sends, &b.recvs})
      while (request* const r = list->take_first())
        discard(r, is_note(*r) ? failure() : why(*r), d);
  while (request* const send = matched_.take_first()) {
    d.end(*send->partner, why(*send->partner));
    d.end(*send, why(*send));
  }
}

}  // namespace hocket::matching
