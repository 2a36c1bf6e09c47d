// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "succession.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <hocket/error.hpp>
#include <utility>

#include "local_endpoint.hpp"
#include "local_hub.hpp"

namespace hocket::local {

void heir::waits_ended() noexcept { from_->give_up(*this); }

void succession::outcome::refuse(heir_ptr h, errc code, std::string const& why) {
  auto f = detail::make_failure(make_error_code(code), to_string(h->info()) + ": " + why);
  refused_.emplace_back(std::move(h), std::move(f));
}

void succession::outcome::admit(group_spec s, std::vector<heir_ptr> all) {
  spec_ = std::move(s);
  admitted_ = std::move(all);
}

void succession::outcome::tell(std::shared_ptr<fabric> const& f) {
  presence::completion const here;
  for (auto& [h, why] : refused_) {
    h->limit.reset();
    h->finish(std::move(why));
  }
  if (admitted_.empty()) return;
  auto const next = std::make_shared<local_hub>(f, spec_);
  for (std::size_t place = 0; place < admitted_.size(); ++place) {
    membership m;
    m.spec = spec_;
    m.spec.rank = group_rank(static_cast<int>(place));
    m.at = std::make_shared<local_endpoint>(next, static_cast<int>(place),
                                            f->rank(spec_.members[m.spec.rank].value()));
    admitted_[place]->store(std::move(m));
  }
  for (auto const& h : admitted_) {
    h->limit.reset();
    h->finish();
  }
}

void succession::enter(heir_ptr const& h, outcome& o) {
  if (closed_) return refuse_late(h, o);
  if (h->decided() != detail::verdict::pending)
    return o.refuse(h, errc::peer_failed, "this member's wait was cancelled");
  waiting_.resize(static_cast<std::size_t>(old_.size()));
  if (at(h->rank))
    return o.refuse(h, errc::invalid_argument, "this member waits for the rebuilt group already");
  at(h->rank) = h;
  close_if_complete(o);
}

void succession::refuse_late(heir_ptr const& h, outcome& o) const {
  auto const me = spec_.members[group_rank(h->rank)];
  auto const now =
      fmt::format("epoch {} of group {} is {}", spec_.epoch + 1, spec_.name, to_string(members_));
  if (members_.contains(me))
    return o.refuse(h, errc::invalid_argument, "this member has rebuilt the group before: " + now);
  o.refuse(
      h, errc::excluded,
      fmt::format("{} came after the membership was closed: {}", old_.name_rank(h->rank), now));
}

void succession::withdraw(heir& h, outcome& o) {
  if (waiting_.empty() || at(h.rank).get() != &h) return;
  o.refuse(std::exchange(at(h.rank), nullptr), errc::peer_failed,
           "this member's wait was cancelled");
}

void succession::member_left(int rank, departure const& why, outcome& o) {
  if (waiting_.empty()) return;
  // Who only drops its handle on the old group still waits for the new one.
  if (at(rank) && why.code == errc::peer_lost)
    o.refuse(std::exchange(at(rank), nullptr), why.code, why.reason);
  close_if_complete(o);
}

void succession::close_if_complete(outcome& o) {
  for (int rank = 0; rank < old_.size(); ++rank)
    if (!at(rank) && !old_.departure_of(rank)) return;
  close(o);
}

void succession::close(outcome& o) {
  std::vector<heir_ptr> heirs;
  std::vector<world_rank> members;
  for (auto& h : waiting_) {
    if (!h) continue;
    members.push_back(spec_.members[group_rank(h->rank)]);
    heirs.push_back(std::move(h));
  }
  if (heirs.empty()) return;  // closed before, or nobody is there to go on
  closed_ = true;
  waiting_.clear();
  members_ = rank_group(members);
  group_spec next = spec_;
  ++next.epoch;
  next.members = members_;
  o.admit(std::move(next), std::move(heirs));
}

}  // namespace hocket::local
