// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "joiner.hpp"

#include <fmt/format.h>

#include <hocket/async/detail/op_state.hpp>
#include <utility>

#include "local_endpoint.hpp"
#include "local_hub.hpp"

namespace hocket::local {

// One member on its way into a group.
class joiner::joining final : public detail::value_state<std::shared_ptr<endpoint>> {
 public:
  joining(detail::port_ptr home, std::shared_ptr<joiner> at, std::string name)
      : value_state(std::move(home)), key(std::move(name)), at_(std::move(at)) {}

  std::string const key;
  making* in = nullptr;  // while it waits

  bool drive() override { return at_->fabric_->rt().drive(); }

 protected:
  void waits_ended() noexcept override { at_->give_up(*this); }
  std::string expiry_story() override { return at_->missing(*this); }

 private:
  std::shared_ptr<joiner> const at_;
};

// The members of one group that have come.
struct joiner::making {
  making(group_spec const& s)
      : spec(s),
        waiting(static_cast<std::size_t>(s.members.size())),
        came(static_cast<std::size_t>(s.members.size()), false) {}

  group_spec const spec;        // as the first to come gave it
  std::vector<handle> waiting;  // by place; null: not here yet, or told
  std::vector<bool> came;
  int arrived = 0;
  bool failed = false;
  errc code = errc::mismatch;  // of the failure
  std::string why;
};

// Who is told what, once the lock is released.
struct joiner::outcome {
  std::vector<handle> refused;
  errc code = errc::mismatch;
  std::string why;
  std::vector<handle> admitted;  // by place
  std::optional<group_spec> spec;

  void tell(std::shared_ptr<fabric> const& f) {
    presence::completion const here;
    for (auto const& op : refused)
      op->finish(detail::make_failure(make_error_code(code), to_string(op->info()) + ": " + why));
    if (admitted.empty()) return;
    auto const shared = std::make_shared<local_hub>(f, *spec);
    for (std::size_t place = 0; place < admitted.size(); ++place)
      admitted[place]->store(std::make_shared<local_endpoint>(
          shared, static_cast<int>(place),
          f->rank(spec->members[group_rank(static_cast<int>(place))].value())));
    for (auto const& op : admitted) op->finish();
  }
};

joiner::joiner(std::shared_ptr<fabric> f, int world_size)
    : fabric_(std::move(f)), gone_(static_cast<std::size_t>(world_size)) {}

joiner::~joiner() = default;

work<std::shared_ptr<endpoint>> joiner::join(group_spec const& spec, detail::port_ptr home,
                                             std::source_location site) {
  auto key = fmt::format("{}@{}", spec.name, spec.epoch);
  handle op(new joining(std::move(home), shared_from_this(), std::move(key)), false);
  op->mutable_info().operation = "make_group";
  op->mutable_info().site = site;
  work<std::shared_ptr<endpoint>> result{detail::op_ptr<std::shared_ptr<endpoint>>(op)};
  auto const limit = spec.deadline;
  if (limit > clock::duration::zero() && limit != clock::duration::max())
    fabric_->rt().arm(*op, limit);
  outcome o;
  {
    std::lock_guard const lock(mutex_);
    enter(open_[op->key], op, spec, o);
  }
  o.tell(fabric_);
  if (limit <= clock::duration::zero()) op->expire();
  return result;
}

// The first one of the name that this rank has not come to.
joiner::making& joiner::making_for(makings& all, group_spec const& spec, int me) {
  for (making& m : all) {
    auto const place = m.spec.members.group_rank_of(world_rank(me));
    if (place ? !m.came[static_cast<std::size_t>(place->value())] : !m.failed) return m;
  }
  return all.emplace_back(spec);
}

void joiner::enter(makings& all, handle const& op, group_spec const& spec, outcome& o) {
  int const me = spec.members[spec.rank].value();
  making& m = making_for(all, spec, me);
  auto const place = m.spec.members.group_rank_of(world_rank(me));
  if (place) {
    m.came[static_cast<std::size_t>(place->value())] = true;
    ++m.arrived;
  }
  if (!m.failed && !(m.spec.members == spec.members))
    fail(m, errc::mismatch,
         fmt::format("members disagree on group {}: {} and {}", spec.name,
                     to_string(m.spec.members), to_string(spec.members)),
         o);
  if (!m.failed && op->decided() != detail::verdict::pending)
    fail(m, errc::peer_failed, fmt::format("rank {} gave up waiting for group {}", me, spec.name),
         o);
  for (std::size_t p = 0; p < m.came.size() && !m.failed; ++p) {
    int const member = m.spec.members[group_rank(static_cast<int>(p))].value();
    auto const& gone = gone_[static_cast<std::size_t>(member)];
    if (m.came[p] || !gone) continue;
    fail(m, gone->code,
         fmt::format("group {}: rank {} is gone: {}", spec.name, member, gone->reason), o);
  }
  if (m.failed) {
    o.code = m.code;
    o.why = m.why;
    o.refused.push_back(op);
  } else {
    m.waiting[static_cast<std::size_t>(place->value())] = op;
    op->in = &m;
    if (m.arrived == m.spec.members.size()) {
      for (auto const& member : m.waiting) member->in = nullptr;
      o.admitted = std::move(m.waiting);
      o.spec = m.spec;
    }
  }
  erase_if_over(all, m);
  if (all.empty()) open_.erase(op->key);
}

void joiner::fail(making& m, errc code, std::string why, outcome& o) {
  m.failed = true;
  o.code = m.code = code;
  o.why = m.why = std::move(why);
  for (auto& op : m.waiting) {
    if (!op) continue;
    op->in = nullptr;
    o.refused.push_back(std::move(op));
  }
}

// Everybody who could still come has been told.
void joiner::erase_if_over(makings& all, making& m) {
  for (std::size_t p = 0; p < m.came.size(); ++p) {
    int const member = m.spec.members[group_rank(static_cast<int>(p))].value();
    if (!m.came[p] && !gone_[static_cast<std::size_t>(member)]) return;
  }
  all.remove_if([&m](making const& other) { return &other == &m; });
}

void joiner::leave(int world_rank_number, errc code, std::string const& reason) {
  std::vector<outcome> told;
  {
    std::lock_guard const lock(mutex_);
    auto& gone = gone_[static_cast<std::size_t>(world_rank_number)];
    if (gone) return;
    gone = departure{code, reason};
    for (auto group = open_.begin(); group != open_.end();) {
      for (auto at = group->second.begin(); at != group->second.end();) {
        making& m = *at++;
        auto const place = m.spec.members.group_rank_of(world_rank(world_rank_number));
        if (!place || m.came[static_cast<std::size_t>(place->value())]) continue;
        if (!m.failed)
          fail(m, code,
               fmt::format("group {}: rank {} is gone: {}", m.spec.name, world_rank_number, reason),
               told.emplace_back());
        erase_if_over(group->second, m);
      }
      group = group->second.empty() ? open_.erase(group) : std::next(group);
    }
  }
  for (auto& o : told) o.tell(fabric_);
}

void joiner::give_up(joining& op) {
  outcome o;
  {
    std::lock_guard const lock(mutex_);
    if (op.in == nullptr) return;  // told already
    making& m = *op.in;
    std::string who;
    for (std::size_t p = 0; p < m.waiting.size(); ++p)
      if (m.waiting[p].get() == &op)
        who = fmt::format("{}", m.spec.members[group_rank(static_cast<int>(p))].value());
    fail(m, errc::peer_failed,
         fmt::format("rank {} gave up waiting for group {}", who, m.spec.name), o);
    auto const all = open_.find(op.key);
    erase_if_over(all->second, m);
    if (all->second.empty()) open_.erase(all);
  }
  o.tell(fabric_);
}

// " (it waits to make g0a1b2c3d.0[0,1])": with lists that differ, default names do, too.
std::string joiner::elsewhere(int member) const {
  std::string groups;
  for (auto const& [key, all] : open_)
    for (making const& m : all) {
      auto const place = m.spec.members.group_rank_of(world_rank(member));
      if (!place || !m.waiting[static_cast<std::size_t>(place->value())]) continue;
      groups +=
          fmt::format("{}{}{}", groups.empty() ? "" : ", ", m.spec.name, to_string(m.spec.members));
    }
  return groups.empty() ? groups : fmt::format(" (it waits to make {})", groups);
}

std::string joiner::missing(joining const& op) {
  std::lock_guard const lock(mutex_);
  if (op.in == nullptr) return "the deadline passed";
  making const& m = *op.in;
  std::string ranks;
  for (std::size_t p = 0; p < m.came.size(); ++p) {
    if (m.came[p]) continue;
    int const member = m.spec.members[group_rank(static_cast<int>(p))].value();
    ranks += fmt::format("{}{}{}", ranks.empty() ? "" : ", ", member, elsewhere(member));
  }
  return fmt::format("the deadline passed; of {} these world ranks have not joined group {}: {}",
                     to_string(m.spec.members), m.spec.name, ranks);
}

}  // namespace hocket::local
