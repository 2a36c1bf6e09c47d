// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "host_hub.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <hocket/error.hpp>
#include <utility>
#include <vector>

#include "announcement.hpp"
#include "engine/matching/meeting.hpp"
#include "engine/matching/movement.hpp"
#include "exchange.hpp"
#include "memory_reader.hpp"
#include "notice.hpp"
#include "slice_exchange.hpp"

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

host_hub::host_hub(std::shared_ptr<fabric> f, group_spec const& spec, std::uint64_t id)
    : hub(std::make_shared<carrier>(f), spec), fabric_(std::move(f)), id_(id) {}

host_hub::~host_hub() = default;

std::uint64_t host_hub::next_handle() {
  std::lock_guard const lock(sends_mutex_);
  return next_send_++;
}

void host_hub::call(request& r) noexcept {
  if (fabric_->is_in_child())
    return r.complete(make_failure(
        make_error_code(errc::not_initialized),
        fmt::format("{}: this process was forked after rank {} had joined: it is no rank itself",
                    to_string(r.op->info()), fabric_->me().rank)));
  bool const is_send_to_peer =
      is_send(r.print.kind) && r.peer != place() && r.peer != request::any_peer;
  if (matching::is_message(r.print.kind) && !is_send_to_peer) return submit(r);
  bool const is_marked = !r.local.exception && !r.ready.ready();
  if (auto const& mark = r.ready.state(); mark && !is_marked && !r.local.exception)
    if (auto const e = mark->engine_failure()) matching::fail_for_mark(r, e);
  if (is_send_to_peer) return send(r);
  r.buffers_ready = !is_marked;
  announce(r, is_marked);
  submit(r);
}

// What a call gives to each member, and how.
struct host_hub::offer {
  std::vector<std::vector<tensor>> gifts;  // by group rank
  bool is_inline = true;
  std::unique_ptr<exposure> shown;
};

host_hub::offer host_hub::make_offer(request& r) const {
  int const n = spec_.members.size();
  announcement const a(r, false, goes_in_slices(r.print, n));
  bool const is_message = is_send(r.print.kind);
  offer o;
  o.gifts.resize(static_cast<std::size_t>(n));
  std::size_t largest = 0;
  for (int to = 0; to < n; ++to) {
    if (to == place() || (is_message && to != r.peer)) continue;
    auto& g = o.gifts[static_cast<std::size_t>(to)];
    g = a.gifts(to);
    largest = std::max(largest, bytes_of(g));
  }
  o.is_inline = fits_inline(largest, is_message ? 1 : n - 1);
  if (o.is_inline) return o;
  o.shown = std::make_unique<exposure>();
  o.shown->has_notes = goes_in_slices(r.print, n);
  for (int to = 0; to < n; ++to)
    if (auto const& g = o.gifts[static_cast<std::size_t>(to)]; !g.empty())
      o.shown->add(world_rank_of(to), g);
  return o;
}

// All members are told of a collective; of one that cannot take part after all, too.
void host_hub::announce(request& r, bool is_marked) noexcept {
  try {
    return tell_members(r, is_marked);
  } catch (...) {
    r.local = matching::failure_of(r, std::current_exception());
    r.buffers_ready = true;
  }
  try {
    tell_members(r, false);
  } catch (std::exception const& e) {  // no memory even for that
    revoke_all(e.what());
  }
}

void host_hub::tell_members(request& r, bool is_marked) {
  announcement const a(r, is_marked);
  int const n = spec_.members.size();
  offer o;
  if (is_marked || r.local.exception) {
    o.gifts.resize(static_cast<std::size_t>(n));
  } else {
    o = make_offer(r);
  }
  std::uint64_t const handle = is_marked ? next_handle() : 0;
  std::vector<std::pair<int, letter>> letters;
  for (int to = 0; to < n; ++to)
    if (to != place())
      letters.emplace_back(
          world_rank_of(to),
          a.letter_for(id_, o.gifts[static_cast<std::size_t>(to)], o.is_inline, 0, handle));
  if (is_marked) {
    std::lock_guard const lock(marks_mutex_);
    own_marked_.emplace(&r, handle);
  }
  if (o.shown) r.exposure = fabric_->expose(std::move(o.shown));
  for (auto& [to, l] : letters) {
    l.head.address = r.exposure;
    fabric_->post(to, std::move(l));
  }
}

// The receivers of a marked call learn what it gives; nothing if it has ended or fails.
std::exception_ptr host_hub::say_mark(request& r, std::uint64_t handle,
                                      std::exception_ptr e) noexcept {
  std::lock_guard const lock(marks_mutex_);
  bool const is_message = is_send(r.print.kind);
  bool is_over = false;
  if (is_message) {
    std::lock_guard const in_sends(sends_mutex_);
    is_over = !sends_.contains(handle);
  } else {
    own_marked_.erase(&r);
    is_over = !unless_decided(r, [] {});
  }
  std::vector<std::pair<int, letter>> letters;
  int const n = spec_.members.size();
  auto const to_each = [&](auto const& letter_of) {
    letters.clear();
    for (int to = 0; to < n; ++to)
      if (to != place() && (!is_message || to == r.peer))
        letters.emplace_back(world_rank_of(to), letter_of(to));
  };
  if (!is_over && !e) {
    try {
      announcement const a(r, true);
      offer o = make_offer(r);
      to_each([&](int to) {
        return a.mark_for(id_, o.gifts[static_cast<std::size_t>(to)], o.is_inline, 0, handle);
      });
      if (o.shown) r.exposure = fabric_->expose(std::move(o.shown));
    } catch (...) {
      e = std::current_exception();
    }
  }
  if (is_over || e) {
    failure const why = e ? detail::failure_from(e)
                          : make_failure(make_error_code(errc::peer_failed), "it has ended before");
    announcement const a(r, true);
    to_each([&](int) { return a.failed_mark_for(id_, why, handle); });
  }
  for (auto& [to, l] : letters) {
    if (l.head.code == 0) l.head.address = r.exposure;
    fabric_->post(to, std::move(l));
  }
  return e;
}

void host_hub::buffers_ready(request& r, std::exception_ptr const& e) noexcept {
  std::uint64_t handle = 0;
  if (!r.is_remote()) {
    std::lock_guard const lock(marks_mutex_);
    if (auto const at = own_marked_.find(&r); at != own_marked_.end()) handle = at->second;
  }
  hub::buffers_ready(r, handle != 0 ? say_mark(r, handle, e) : e);
}

// Tells the receiver of a message when its mark has come.
class host_hub::send_mark final : public detail::continuation, public detail::pooled {
 public:
  send_mark(std::shared_ptr<host_hub> h, request& r)
      : hub_(std::move(h)), call_(r), op_(r.op), mark_(r.ready.state()) {
    continuation::run = [](continuation* c) noexcept {
      std::unique_ptr<send_mark> const self(static_cast<send_mark*>(c));
      static_cast<void>(
          self->hub_->say_mark(self->call_, self->handle_, self->mark_->engine_failure()));
    };
  }
  void begin(std::uint64_t handle) {
    handle_ = handle;
    auto const mark = mark_;  // this object may be gone before the call returns
    mark->when_finished(*this);
  }

 private:
  std::shared_ptr<host_hub> const hub_;
  request& call_;
  detail::op_ref const op_;  // the request lives in it
  detail::op_ref const mark_;
  std::uint64_t handle_ = 0;
};

void host_hub::send(request& r) {
  failure why;
  {
    std::lock_guard const lock(mutex_);
    why = reason_against(r);
  }
  if (why.exception) return r.complete(std::move(why));
  detail::op_ref const keep(r.op);
  bool const is_marked = !r.local.exception && !r.ready.ready();
  int const receiver = r.peer;
  offer o;
  o.gifts.resize(static_cast<std::size_t>(spec_.members.size()));
  letter l;
  try {
    if (!is_marked && !r.local.exception) o = make_offer(r);
    l = announcement(r, is_marked)
            .letter_for(id_, o.gifts[static_cast<std::size_t>(receiver)], o.is_inline, 0, 0);
  } catch (...) {
    r.local = matching::failure_of(r, std::current_exception());
    o.shown.reset();
    l = announcement(r).letter_for(id_, {}, true, 0, 0);
  }
  bool const failed = r.local.exception != nullptr;
  if (o.shown) r.exposure = fabric_->expose(std::move(o.shown));
  l.head.address = r.exposure;
  auto const self = std::static_pointer_cast<host_hub>(shared_from_this());
  auto mark = is_marked && !failed ? std::make_unique<send_mark>(self, r) : nullptr;
  std::uint64_t handle = 0;
  {
    std::lock_guard const lock(sends_mutex_);
    handle = next_send_++;
    sends_.emplace(handle, &r);
  }
  l.head.handle = handle;
  fabric_->post(world_rank_of(receiver), std::move(l));
  if (mark) mark.release()->begin(handle);
  failure late;  // in the meantime; a receiver that has only left says how the message ends
  {
    std::lock_guard const lock(mutex_);
    late = reason_against(r);
  }
  if (late.code == errc::revoked || late.code == errc::peer_lost) end_sends(receiver);
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

void host_hub::close_own_channel(std::uint64_t channel) noexcept {
  auto l = notice(frame_kind::close_channel, id_, place(), "");
  l.head.channel = channel;
  post_to_all(l);
  close_channel(place(), channel);
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
  l.head.code = f.exception ? wire_code(f.code) : 0;
  l.head.flags = f.exception ? 1 : 0;
  fabric_->post(c.world_rank, std::move(l));
  send.complete(f);
}

}  // namespace hocket::host
