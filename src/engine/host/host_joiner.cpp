// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "host_joiner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <hocket/async/detail/op_state.hpp>
#include <hocket/error.hpp>
#include <utility>

#include "announcement.hpp"
#include "host_endpoint.hpp"
#include "host_hub.hpp"
#include "wire.hpp"

namespace hocket::host {
namespace {

using detail::failure;
using detail::make_failure;

// FNV-1a: the same on every machine.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325;
  for (char const c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return h;
}

std::vector<int> ranks_of(rank_group const& g) {
  std::vector<int> ranks;
  for (auto const r : g) ranks.push_back(r.value());
  return ranks;
}

}  // namespace

// This rank on its way into a group.
class host_joiner::joining final : public detail::value_state<std::shared_ptr<endpoint>> {
 public:
  joining(detail::port_ptr home, std::shared_ptr<host_joiner> at, std::uint64_t id)
      : value_state(std::move(home)), group(id), at_(std::move(at)) {}
  bool drive() override { return at_->fabric_->rt().drive(); }
  std::uint64_t const group;

 protected:
  void waits_ended() noexcept override { at_->give_up(*this); }
  std::string expiry_story() override { return at_->missing(*this); }

 private:
  std::shared_ptr<host_joiner> const at_;
};

// What the members of a group have said so far.
struct host_joiner::making {
  std::map<int, std::vector<int>> said;  // world rank -> the list of members it gave
  detail::failure refused;               // by a member
  handle mine;                           // this rank's, while it waits
  std::optional<group_spec> spec;
  std::shared_ptr<host_hub> hub;
  std::weak_ptr<void> engine;
};

// What is done once the lock is released.
struct host_joiner::outcome {
  handle told;
  failure why;
  std::shared_ptr<host_hub> admitted;
  std::weak_ptr<void> engine;
  std::vector<std::pair<int, letter>> letters;

  void carry_out(fabric& f) {
    for (auto& [to, l] : letters) f.post(to, std::move(l));
    if (!told) return;
    if (admitted && engine.expired()) {
      told->finish(make_failure(make_error_code(errc::group_closed),
                                to_string(told->info()) + ": the world has been dropped"));
    } else if (admitted) {
      told->store(std::make_shared<host_endpoint>(std::move(admitted), std::move(engine)));
      told->finish();
    } else {
      told->finish(std::move(why));
    }
  }
};

host_joiner::host_joiner(std::shared_ptr<fabric> f) : fabric_(std::move(f)) {}
host_joiner::~host_joiner() = default;

std::shared_ptr<endpoint> host_joiner::admit(group_spec const& spec, std::weak_ptr<void> engine) {
  auto const name = fmt::format("{}@{}", spec.name, spec.epoch);
  std::lock_guard const lock(mutex_);
  auto const id = hash_of(fmt::format("{}#{}", name, joined_[name]++));
  auto hub = std::make_shared<host_hub>(fabric_, spec, id);
  fabric_->enlist(id, hub);
  return std::make_shared<host_endpoint>(std::move(hub), std::move(engine));
}

work<std::shared_ptr<endpoint>> host_joiner::join(group_spec const& spec, detail::port_ptr home,
                                                  std::source_location site,
                                                  std::weak_ptr<void> engine,
                                                  std::uint64_t parent) {
  auto const name = fmt::format("{}@{}", spec.name, spec.epoch);
  outcome o;
  handle op;
  auto const limit = spec.deadline;
  {
    std::lock_guard const lock(mutex_);
    auto const id = parent != 0 ? hash_of(fmt::format("{} after {:016x}", name, parent))
                                : hash_of(fmt::format("{}#{}", name, joined_[name]++));
    op.reset(new joining(std::move(home), shared_from_this(), id), false);
    op->mutable_info().operation = "make_group";
    op->mutable_info().site = site;
    // Before anybody else can end it.
    if (limit > clock::duration::zero() && limit != clock::duration::max())
      fabric_->rt().arm(*op, limit);
    making& m = open_[id];
    m.mine = op;
    m.spec = spec;
    m.engine = std::move(engine);
    m.hub = std::make_shared<host_hub>(fabric_, spec, id);
    fabric_->enlist(id, m.hub);
    letter l;
    l.head.kind = frame_kind::join;
    l.head.group = id;
    l.head.rank = spec.rank.value();
    byte_writer to(l.body);
    to.put_text(spec.name);
    auto const ranks = ranks_of(spec.members);
    to.put(static_cast<std::uint32_t>(ranks.size()));
    for (int const r : ranks) to.put(static_cast<std::int32_t>(r));
    l.head.extra_bytes = static_cast<std::uint32_t>(l.body.size());
    for (int const r : ranks)
      if (r != fabric_->me().rank) o.letters.emplace_back(r, l);
    judge(id, m, o);
  }
  work<std::shared_ptr<endpoint>> result{detail::op_ptr<std::shared_ptr<endpoint>>(op)};
  o.carry_out(*fabric_);
  if (limit <= clock::duration::zero()) op->expire();
  return result;
}

void host_joiner::receive(int from, frame_head const& head, std::span<std::byte const> extra,
                          std::span<std::byte const>) {
  outcome o;
  {
    std::lock_guard const lock(mutex_);
    making& m = open_[head.group];
    if (head.kind == frame_kind::refuse) {
      if (!m.refused.exception)
        m.refused =
            make_failure(make_error_code(code_of_wire(head.code)),
                         std::string(reinterpret_cast<char const*>(extra.data()), extra.size()));
    } else {
      byte_reader in(extra);
      static_cast<void>(in.take_text());
      std::vector<int> ranks;
      for (auto n = in.take<std::uint32_t>(); n > 0; --n) ranks.push_back(in.take<std::int32_t>());
      if (!in.empty()) throw error(errc::corrupt, "a join frame says more than it should");
      m.said[from] = std::move(ranks);
    }
    judge(head.group, m, o);
  }
  o.carry_out(*fabric_);
}

// Whether this rank's joining has come to its end.
void host_joiner::judge(std::uint64_t id, making& m, outcome& o) {
  if (!m.mine) return;
  auto const ranks = ranks_of(m.spec->members);
  if (m.refused.exception)
    return fail(m, static_cast<errc>(m.refused.code.value()),
                matching::what_of(m.refused.exception), false, id, o);
  for (auto const& [who, list] : m.said)
    if (list != ranks)
      return fail(
          m, errc::mismatch,
          fmt::format("members disagree on group {}: rank {} says [{}], rank {} [{}]", m.spec->name,
                      fabric_->me().rank, fmt::join(ranks, ","), who, fmt::join(list, ",")),
          true, id, o);
  for (int const r : ranks)
    if (auto const gone = lost_.find(r); gone != lost_.end() && !m.said.contains(r))
      return fail(m, errc::peer_lost,
                  fmt::format("group {}: rank {} is gone: {}", m.spec->name, r, gone->second), true,
                  id, o);
  bool const all = std::ranges::all_of(
      ranks, [&](int r) { return r == fabric_->me().rank || m.said.contains(r); });
  if (!all) return;
  o.told = std::move(m.mine);
  o.admitted = std::move(m.hub);
  o.engine = std::move(m.engine);
  open_.erase(id);
}

void host_joiner::fail(making& m, errc code, std::string why, bool tell_others, std::uint64_t id,
                       outcome& o) {
  if (tell_others) {
    letter l;
    l.head.kind = frame_kind::refuse;
    l.head.group = id;
    l.head.code = static_cast<std::uint32_t>(code);
    auto const bytes = std::as_bytes(std::span(why.data(), why.size()));
    l.body.assign(bytes.begin(), bytes.end());
    l.head.extra_bytes = static_cast<std::uint32_t>(l.body.size());
    auto told = ranks_of(m.spec->members);
    for (auto const& [who, list] : m.said)
      if (std::ranges::find(told, who) == told.end()) told.push_back(who);
    for (int const r : told)
      if (r != fabric_->me().rank) o.letters.emplace_back(r, l);
  }
  o.told = std::move(m.mine);
  o.why = make_failure(make_error_code(code), to_string(o.told->info()) + ": " + why);
  fabric_->delist(id);
  open_.erase(id);
}

void host_joiner::lost(int rank, std::string const& why) {
  std::vector<outcome> all;
  {
    std::lock_guard const lock(mutex_);
    lost_.emplace(rank, why);
    for (auto at = open_.begin(); at != open_.end();) {
      auto& [id, m] = *at++;
      if (m.mine) judge(id, m, all.emplace_back());
    }
  }
  for (auto& o : all) o.carry_out(*fabric_);
}

void host_joiner::world_ends(std::string const& why) {
  std::vector<outcome> all;
  {
    std::lock_guard const lock(mutex_);
    for (auto at = open_.begin(); at != open_.end();) {
      auto& [id, m] = *at++;
      if (!m.mine) continue;
      fail(m, errc::group_closed,
           fmt::format("group {}: rank {} has left: {}", m.spec->name, fabric_->me().rank, why),
           true, id, all.emplace_back());
    }
  }
  for (auto& o : all) o.carry_out(*fabric_);
}

void host_joiner::give_up(joining& op) {
  outcome o;
  {
    std::lock_guard const lock(mutex_);
    auto const at = open_.find(op.group);
    if (at == open_.end() || at->second.mine.get() != &op) return;
    bool const late = op.decided() == detail::verdict::expired;
    fail(at->second, late ? errc::timed_out : errc::peer_failed,
         fmt::format("rank {} waited until {}; {}", fabric_->me().rank,
                     late ? "its deadline passed" : "it was cancelled", missing_of(at->second)),
         true, op.group, o);
  }
  o.carry_out(*fabric_);
}

std::string host_joiner::missing(joining const& op) {
  std::lock_guard const lock(mutex_);
  auto const at = open_.find(op.group);
  if (at == open_.end() || at->second.mine.get() != &op) return "the deadline passed";
  return "the deadline passed; " + missing_of(at->second);
}

std::string host_joiner::missing_of(making const& m) {
  std::string ranks, stages;
  for (int const r : ranks_of(m.spec->members)) {
    if (r == fabric_->me().rank || m.said.contains(r)) continue;
    ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", r);
    stages += fmt::format("; rank {}: {}", r, fabric_->stage_of(r));
  }
  return fmt::format("of {} these world ranks have not joined group {}: {}{}",
                     to_string(m.spec->members), m.spec->name, ranks, stages);
}

void host_joiner::report(std::vector<std::string>& lines) {
  std::lock_guard const lock(mutex_);
  for (auto const& [id, m] : open_)
    if (m.mine) lines.push_back("make_group: " + missing_of(m));
}

}  // namespace hocket::host
