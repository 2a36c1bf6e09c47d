// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// How calls, memberships and the group end before their time, and what goes on after that.
#include <fmt/format.h>

#include <hocket/error.hpp>
#include <utility>
#include <vector>

#include "engine/matching/movement.hpp"
#include "host_hub.hpp"
#include "notice.hpp"
#include "succession.hpp"

namespace hocket::host {

using detail::failure;
using detail::make_failure;

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

void host_hub::end_own(request& r, failure why) noexcept {
  std::uint64_t id = 0;
  {
    std::lock_guard const lock(marks_mutex_);
    id = std::exchange(r.exposure, 0);
  }
  if (id == 0) return r.complete(std::move(why));
  if (why.code == errc::revoked) {  // who has stopped may never say that he needs it no more
    fabric_->recall(id, why);
    return r.complete(std::move(why));
  }
  auto* const w = new waits_for_takers(r, std::move(why));
  failure ignored;
  if (fabric_->is_drained(id, *w, ignored)) w->came({});
}

void host_hub::revoke_all(std::string const& reason) noexcept { take_revoke(place(), reason); }

// Also what moves already: bytes of a peer that has stopped may never come. All are told by each
// member: the first one may be gone before it has told everybody, and who refuses bytes because of
// it must have said so before.
void host_hub::take_revoke(int by, std::string const& reason) noexcept {
  if (!has_told_revoke_.exchange(true)) {
    auto l = notice(frame_kind::revoke, id_, place(), reason);
    l.head.root = by;
    post_to_all(l);
  }
  revoke(by, reason);
  end_sends(-1);
  exchanges_.abort_all(
      make_failure(make_error_code(errc::revoked),
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

// A message's buffers are offered no more.
void host_hub::hide(request& r) noexcept {
  std::lock_guard const lock(marks_mutex_);
  if (r.exposure != 0) fabric_->conceal(std::exchange(r.exposure, 0));
}

// Of one receiver, or of all: buffers are taken back from those who may still be reading.
void host_hub::end_sends(int to) noexcept {
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
    {
      std::lock_guard const lock(marks_mutex_);
      if (r->exposure != 0) fabric_->recall(std::exchange(r->exposure, 0), why);
    }
    r->complete(std::move(why));
  }
}

void host_hub::leave(int rank, errc code, std::string const& reason) noexcept {
  hub::leave(rank, code, reason);
  // A receiver that is there says how messages to it have ended.
  if (rank != place() && code == errc::peer_lost) end_sends(rank);
  std::shared_ptr<succession> heir;
  {
    std::lock_guard const lock(mutex_);
    heir = succession_.lock();
  }
  if (heir) heir->member_left();
}

void host_hub::lost(int world_rank_number, std::string const& why) {
  int const who = place_of_world(world_rank_number);
  if (who >= 0) leave(who, errc::peer_lost, fmt::format("its process is gone: {}", why));
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

std::string host_hub::name_of_member(int place_of_member) {
  return roster_.name_rank(place_of_member);
}

void host_hub::report(std::vector<std::string>& lines) {
  pending(place(), lines);
  exchanges_.report(lines);
  std::scoped_lock const lock(sends_mutex_, mutex_);
  for (auto const& [handle, r] : sends_)
    lines.push_back(fmt::format("{}: {}: {} has not received it (tag {})", roster_.place(*r),
                                describe(*r), roster_.name_rank(r->peer), r->tag));
}

}  // namespace hocket::host
