// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "host_hub.hpp"

#include <fmt/format.h>

#include <hocket/error.hpp>
#include <utility>
#include <vector>

#include "announcement.hpp"
#include "engine/matching/meeting.hpp"
#include "engine/matching/movement.hpp"
#include "exchange.hpp"
#include "memory_reader.hpp"
#include "slice_exchange.hpp"
#include "succession.hpp"

namespace hocket::host {

using detail::failure;
using detail::make_failure;

// Carries out what has matched in one group.
class host_hub::carrier final : public matching::carrier {
 public:
  explicit carrier(std::shared_ptr<fabric> f) : fabric_(std::move(f)) {}
  runtime_handle const& rt() const noexcept override { return fabric_->rt(); }
  void carry(matching::hub& at, matching::meeting& m) noexcept override {
    auto const h = self(at);
    request const& own = *m.parts[static_cast<std::size_t>(h->place())];
    if (goes_in_slices(own.print, h->spec_.members.size())) return carry_in_slices(h, m);
    if (own.print.kind == op_kind::reduce_scatter && own.exposure != 0 && reduces_one_piece(own))
      return carry_part(h, m);
    carry_collective(h, m);
  }
  void carry(matching::hub& at, request& send, request& recv) noexcept override {
    if (send.is_remote()) return carry_message(self(at), send, recv);
    auto const f = matching::outcome_of(recv, [&] { matching::transfer(send, recv); });
    recv.complete(matching::own_copy(f));
    send.complete(f);
  }
  void end(matching::hub& at, request& r, failure why) noexcept override {
    auto const h = self(at);
    if (!r.is_remote()) return h->end_own(r, std::move(why));
    auto& c = remote_call::of(r);
    if (is_send(r.print.kind)) return h->message_ended(r, why);
    h->release_gift(c);
    r.complete(std::move(why));
  }

 private:
  static std::shared_ptr<host_hub> self(matching::hub& at) {
    return std::static_pointer_cast<host_hub>(at.shared_from_this());
  }
  std::shared_ptr<fabric> const fabric_;
};

// A call that failed while others may still read its buffers ends when they do not any more.
class host_hub::waits_for_takers final : public arrival, public detail::pooled {
 public:
  waits_for_takers(request& r, failure why) : call_(r), why_(std::move(why)) {}
  void came(failure const&) noexcept override {
    std::unique_ptr<waits_for_takers> const self(this);
    call_.complete(std::move(why_));
  }

 private:
  request& call_;
  failure why_;
};

host_hub::host_hub(std::shared_ptr<fabric> f, group_spec const& spec, std::uint64_t id)
    : hub(std::make_shared<carrier>(f), spec), fabric_(std::move(f)), id_(id) {}

host_hub::~host_hub() = default;

void host_hub::end_own(request& r, failure why) noexcept {
  auto const id = std::exchange(r.exposure, 0);
  if (id == 0) return r.complete(std::move(why));
  if (why.code == errc::revoked) {  // who has stopped may never say that he needs it no more
    fabric_->recall(id, why);
    return r.complete(std::move(why));
  }
  auto* const w = new waits_for_takers(r, std::move(why));
  failure ignored;
  if (fabric_->is_drained(id, *w, ignored)) w->came({});
}

void host_hub::call(request& r) noexcept {
  if (fabric_->is_in_child())
    return r.complete(make_failure(
        make_error_code(errc::not_initialized),
        fmt::format("{}: this process was forked after rank {} had joined: it is no rank itself",
                    to_string(r.op->info()), fabric_->me().rank)));
  if (is_recv(r.print.kind)) return submit(r);
  if (is_send(r.print.kind)) {
    if (r.peer == place() || r.peer == request::any_peer) return submit(r);
    return send(r);
  }
  try {
    announce(r);
  } catch (...) {
    r.local = detail::failure_from(std::current_exception());
  }
  submit(r);
}

// All members are told of a collective.
void host_hub::announce(request& r) {
  int const n = spec_.members.size();
  announcement const a(r, goes_in_slices(r.print, n));
  std::vector<std::vector<tensor>> gifts(static_cast<std::size_t>(n));
  std::size_t largest = 0;
  for (int to = 0; to < n; ++to) {
    if (to == place()) continue;
    auto& g = gifts[static_cast<std::size_t>(to)];
    g = a.gifts(to);
    largest = std::max(largest, bytes_of(g));
  }
  bool const is_inline = fits_inline(largest, n - 1);
  auto e = std::make_unique<exposure>();
  e->has_notes = a.in_slices();
  if (!is_inline)
    for (int to = 0; to < n; ++to)
      if (auto const& g = gifts[static_cast<std::size_t>(to)]; !g.empty())
        e->add(world_rank_of(to), g);
  if (!e->is_drained()) r.exposure = fabric_->expose(std::move(e));
  for (int to = 0; to < n; ++to)
    if (to != place())
      fabric_->post(world_rank_of(to), a.letter_for(id_, gifts[static_cast<std::size_t>(to)],
                                                    is_inline, r.exposure, 0));
}

void host_hub::send(request& r) {
  failure why;
  {
    std::lock_guard const lock(mutex_);
    why = reason_against(r);
  }
  if (why.exception) return r.complete(std::move(why));
  announcement const a(r);
  auto const gifts = a.gifts(r.peer);
  bool const is_inline = fits_inline(bytes_of(gifts), 1);
  int const receiver = r.peer;
  int const to = world_rank_of(receiver);
  if (!is_inline) {
    auto e = std::make_unique<exposure>();
    e->add(to, gifts);
    r.exposure = fabric_->expose(std::move(e));
  }
  std::uint64_t handle = 0;
  auto l = a.letter_for(id_, gifts, is_inline, r.exposure, 0);
  {
    std::lock_guard const lock(sends_mutex_);
    handle = next_send_++;
    sends_.emplace(handle, &r);
  }
  l.head.handle = handle;
  bool const failed = r.local.exception != nullptr;
  fabric_->post(to, std::move(l));
  bool gone = false;  // in the meantime
  {
    std::lock_guard const lock(mutex_);
    gone = roster_.departure_of(receiver).has_value();
  }
  if (gone) end_sends(receiver);
  if (failed) {  // the peer learns it in its place of the order; this rank knows already
    request* mine = nullptr;
    {
      std::lock_guard const lock(sends_mutex_);
      if (auto const at = sends_.find(handle); at != sends_.end()) {
        mine = at->second;
        sends_.erase(at);
      }
    }
    if (mine != nullptr) end_own(*mine, mine->local);
  }
}

int host_hub::place_of_world(int rank) const {
  auto const p = spec_.members.group_rank_of(world_rank(rank));
  return p ? p->value() : -1;
}

void host_hub::post_to_all(letter const& l) {
  for (int to = 0; to < spec_.members.size(); ++to)
    if (to != place()) fabric_->post(world_rank_of(to), l);
}

namespace {

letter notice(frame_kind kind, std::uint64_t group, int rank, std::string_view text) {
  letter l;
  l.head.kind = kind;
  l.head.group = group;
  l.head.rank = rank;
  auto const bytes = std::as_bytes(std::span(text.data(), std::min(text.size(), extra_bytes_max)));
  l.body.assign(bytes.begin(), bytes.end());
  l.head.extra_bytes = static_cast<std::uint32_t>(l.body.size());
  return l;
}

std::string text_of(std::span<std::byte const> bytes) {
  return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

}  // namespace

void host_hub::close_own_channel(std::uint64_t channel) noexcept {
  auto l = notice(frame_kind::close_channel, id_, place(), "");
  l.head.channel = channel;
  post_to_all(l);
  close_channel(place(), channel);
}

void host_hub::revoke_all(std::string const& reason) noexcept {
  post_to_all(notice(frame_kind::revoke, id_, place(), reason));
  take_revoke(place(), reason);
}

// Also what moves already: bytes of a peer that has stopped may never come.
void host_hub::take_revoke(int by, std::string const& reason) noexcept {
  revoke(by, reason);
  end_sends(-1);
  exchanges_.abort_all(make_failure(
      make_error_code(errc::revoked),
      fmt::format("the group was revoked by {}: {}", name_of_member(by), reason)));
}

void host_hub::withdraw_own(request& r) noexcept {
  if (r.print.kind == op_kind::monitored_barrier) {
    bool const late = r.op->decided() == detail::verdict::expired;
    auto l = notice(frame_kind::gave_up, id_, place(), "");
    l.head.channel = r.channel;
    l.head.sequence = r.sequence;
    l.head.code = static_cast<std::uint32_t>(late ? errc::timed_out : errc::peer_failed);
    post_to_all(l);
  }
  withdraw(r);
}

void host_hub::leave_own(errc code, std::string const& reason) noexcept {
  auto l = notice(frame_kind::leave, id_, place(), reason);
  l.head.code = static_cast<std::uint32_t>(code);
  post_to_all(l);
  leave(place(), code, reason);
}

void host_hub::release_gift(remote_call& from) noexcept {
  if (from.is_here || from.gives.empty() || is_send(from.asked.print.kind)) return;
  release(from.world_rank, from.exposure);
}

void host_hub::release(int world_rank_number, std::uint64_t exposure) {
  auto l = notice(frame_kind::fetched, id_, place(), "");
  l.head.address = exposure;
  fabric_->post(world_rank_number, std::move(l));
}

void host_hub::tell_ready(int world_rank_number, std::uint64_t exposure, note const& what) {
  std::string story;
  if (what.why.exception) story = matching::what_of(what.why.exception);
  auto l = notice(frame_kind::ready, id_, place(), story);
  l.head.address = exposure;
  l.head.handle = what.exposure;
  l.head.tag = what.address;
  l.head.code = seal_of_this_process();
  l.head.flags = what.why.exception ? 1 : 0;
  fabric_->post(world_rank_number, std::move(l));
}

void host_hub::message_ended(request& send, failure const& f) noexcept {
  auto& c = remote_call::of(send);
  std::string story;
  if (f.exception) story = matching::what_of(f.exception);
  auto l = notice(frame_kind::outcome, id_, place(), story);
  l.head.handle = c.message;
  l.head.code = f.exception ? static_cast<std::uint32_t>(f.code.value()) : 0;
  l.head.flags = f.exception ? 1 : 0;
  fabric_->post(c.world_rank, std::move(l));
  send.complete(f);
}

void host_hub::receive(int from, frame_head const& head, std::span<std::byte const> extra,
                       std::span<std::byte const> payload) {
  int const who = head.rank;
  if (who < 0 || who >= spec_.members.size() || world_rank_of(who) != from)
    throw error(errc::corrupt, fmt::format("a {} frame of group {} says that it is from rank {}",
                                           name_of(head.kind), label(), who));
  switch (head.kind) {
    case frame_kind::call:
    case frame_kind::failed:
      return take_call(who, head, extra, payload);
    case frame_kind::outcome:
      return take_outcome(who, head, extra);
    case frame_kind::close_channel:
      return close_channel(who, head.channel);
    case frame_kind::revoke:
      return take_revoke(who, text_of(extra));
    case frame_kind::gave_up:
      return give_up(who, head.channel, head.sequence,
                     head.code == static_cast<std::uint32_t>(errc::timed_out));
    case frame_kind::leave:
      return leave(who, static_cast<errc>(head.code), text_of(extra));
    default:
      throw error(errc::corrupt, fmt::format("a {} frame of a group", name_of(head.kind)));
  }
}

void host_hub::take_call(int who, frame_head const& head, std::span<std::byte const> extra,
                         std::span<std::byte const> payload) {
  auto c = read_announcement(head, extra, payload, label(), spec_.members.size());
  c->world_rank = world_rank_of(who);
  request& r = c->asked;
  r.peer = place();
  if (is_recv(r.print.kind)) throw error(errc::corrupt, "a receive is not announced");
  if (!is_send(r.print.kind) && !can_meet(r))
    throw error(errc::corrupt,
                fmt::format("{} #{} of channel {} is announced twice or too early",
                            name_of(r.print.kind), r.sequence, r.channel));
  c.detach();  // the matching's, until it is complete
  submit(r);
}

void host_hub::take_outcome(int who, frame_head const& head, std::span<std::byte const> extra) {
  request* r = nullptr;
  {
    std::lock_guard const lock(sends_mutex_);
    auto const at = sends_.find(head.handle);
    if (at == sends_.end() || at->second->peer != who) return;
    r = at->second;
    sends_.erase(at);
  }
  fabric_->release(r->exposure, world_rank_of(who));
  r->exposure = 0;
  failure f;
  if (head.flags != 0)
    f = make_failure(make_error_code(static_cast<errc>(head.code)), text_of(extra));
  r->complete(std::move(f));
}

// Of one receiver, or of all.
void host_hub::end_sends(int to) {
  std::vector<std::pair<request*, failure>> ended;
  {
    std::scoped_lock const lock(sends_mutex_, mutex_);
    for (auto at = sends_.begin(); at != sends_.end();) {
      request& r = *at->second;
      if (to >= 0 && r.peer != to) {
        ++at;
        continue;
      }
      ended.emplace_back(&r, reason_against(r));
      at = sends_.erase(at);
    }
  }
  for (auto& [r, why] : ended) {
    fabric_->recall(std::exchange(r->exposure, 0), why);
    r->complete(std::move(why));
  }
}

void host_hub::leave(int rank, errc code, std::string const& reason) noexcept {
  hub::leave(rank, code, reason);
  if (rank != place()) end_sends(rank);
  std::shared_ptr<succession> heir;
  {
    std::lock_guard const lock(mutex_);
    heir = succession_.lock();
  }
  if (heir) heir->member_left();
}

work<membership> host_hub::rebuild(clock::duration deadline, detail::port_ptr home,
                                   std::source_location site) {
  auto const self = std::static_pointer_cast<host_hub>(shared_from_this());
  revoke_all("it rebuilds the group");
  auto const heir = std::make_shared<succession>(self, std::move(home), site);
  std::string refusal;
  {
    std::lock_guard const lock(mutex_);
    if (auto const& why = roster_.departure_of(place())) {
      return heir->refuse(errc::group_closed, "this rank has left the group: " + why->reason);
    } else if (has_rebuilt_) {
      refusal = "this member has rebuilt the group before";
    } else if (succession_.lock()) {
      refusal = "this member waits for the rebuilt group already";
    } else {
      succession_ = heir;
    }
  }
  if (!refusal.empty()) return heir->refuse(errc::invalid_argument, refusal);
  return heir->begin(deadline);
}

std::optional<errc> host_hub::departure_of(int place_of_member) {
  std::lock_guard const lock(mutex_);
  if (auto const& why = roster_.departure_of(place_of_member)) return why->code;
  return std::nullopt;
}

void host_hub::note_rebuilt() noexcept {
  std::lock_guard const lock(mutex_);
  has_rebuilt_ = true;
}

std::string host_hub::name_of_member(int place_of_member) { return roster_.name_rank(place_of_member); }

void host_hub::report(std::vector<std::string>& lines) {
  pending(place(), lines);
  exchanges_.report(lines);
  std::scoped_lock const lock(sends_mutex_, mutex_);
  for (auto const& [handle, r] : sends_)
    lines.push_back(fmt::format("{}: {}: {} has not received it (tag {})", roster_.place(*r),
                                describe(*r), roster_.name_rank(r->peer), r->tag));
}

void host_hub::lost(int world_rank_number, std::string const& why) {
  int const who = place_of_world(world_rank_number);
  if (who >= 0)
    leave(who, errc::peer_lost, fmt::format("its process is gone: {}", why));
}

}  // namespace hocket::host
