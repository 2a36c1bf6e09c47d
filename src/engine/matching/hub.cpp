// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "hub.hpp"

#include <fmt/format.h>

#include <chrono>
#include <hocket/error.hpp>
#include <iterator>
#include <utility>

namespace hocket::matching {
namespace {

using detail::make_failure;

// Tells the hub when the mark that guards a request's buffers has come.
class buffer_watch final : public detail::continuation, public detail::pooled {
 public:
  buffer_watch(std::shared_ptr<hub> h, request& r)
      : hub_(std::move(h)), request_(r), op_(r.op), mark_(r.ready.state()) {
    continuation::run = [](continuation* c) noexcept {
      std::unique_ptr<buffer_watch> const self(static_cast<buffer_watch*>(c));
      self->hub_->buffers_ready(self->request_, self->mark_->engine_failure());
    };
  }
  void begin() {
    auto const mark = mark_;  // this object may be gone before the call returns
    mark->when_finished(*this);
  }

 private:
  std::shared_ptr<hub> const hub_;
  request& request_;
  detail::op_ref const op_;  // the request lives in it
  detail::op_ref const mark_;
};

}  // namespace

hub::hub(std::shared_ptr<carrier> by, group_spec const& spec)
    : spec_(spec), roster_(spec_), carrier_(std::move(by)) {}

// A member that has closed a channel and uses its id again means the next channel of that id.
channel& hub::channel_for(int rank, std::uint64_t id) {
  auto& all = channels_[id];
  for (channel& c : all)
    if (!c.has_closed(rank)) return c;
  return all.emplace_back(roster_, id);
}

void hub::drop_if_done(channel& c) noexcept {
  if (!c.is_done()) return;
  auto const all = channels_.find(c.id);
  all->second.remove_if([&c](channel const& other) { return &other == &c; });
  if (all->second.empty()) channels_.erase(all);
}

detail::failure hub::reason_against(request const& r) const {
  if (!revoked_.empty())
    return make_failure(make_error_code(errc::revoked), roster_.place(r) + ": " + revoked_);
  if (auto const& why = roster_.departure_of(r.rank))
    return make_failure(
        make_error_code(errc::group_closed),
        fmt::format("{}: this rank has left the group: {}", to_string(r.op->info()), why->reason));
  if (is_send(r.print.kind) && r.peer >= 0 && roster_.departure_of(r.peer))
    return attendance(roster_, r.channel).absent(r.peer, r);
  return {};
}

bool hub::can_meet(request const& r) {
  std::lock_guard const lock(mutex_);
  // It ends at once, whatever it is.
  if (!revoked_.empty() || roster_.departure_of(r.rank)) return true;
  return channel_for(r.rank, r.channel).can_meet(r);
}

void hub::submit(request& r) noexcept {
  detail::op_ref const keep(r.op);
  std::unique_ptr<buffer_watch> watch;
  bool const is_marked = !r.ready.ready() || (!r.buffers_ready && !r.is_remote());
  if (is_marked && !r.local.exception) {
    r.buffers_ready = false;
    watch = std::make_unique<buffer_watch>(shared_from_this(), r);
  }
  if (auto const& mark = r.ready.state(); mark && !watch && mark->engine_failure())
    fail_for_mark(r, mark->engine_failure());
  decisions d(*this);
  {
    std::lock_guard const lock(mutex_);
    if (!revoked_.empty()) {
      d.end(r, make_failure(make_error_code(errc::revoked), roster_.place(r) + ": " + revoked_));
    } else if (auto const& why = roster_.departure_of(r.rank)) {
      d.end(r, make_failure(make_error_code(errc::group_closed),
                            fmt::format("{}: this rank has left the group: {}",
                                        to_string(r.op->info()), why->reason)));
    } else {
      channel& c = channel_for(r.rank, r.channel);
      r.where = &c;
      c.submit(r, d);
    }
  }
  d.carry_out(*carrier_);
  if (watch) watch.release()->begin();
}

void hub::withdraw(request& r) noexcept {
  if (!is_recv(r.print.kind) && r.print.kind != op_kind::monitored_barrier) return;
  decisions d(*this);
  {
    std::lock_guard const lock(mutex_);
    if (r.where == nullptr || r.decided) return;
    static_cast<channel*>(r.where)->withdraw(r, d);
  }
  d.carry_out(*carrier_);
}

void hub::give_up(int rank, std::uint64_t id, std::uint64_t sequence, bool late) noexcept {
  decisions d(*this);
  {
    std::lock_guard const lock(mutex_);
    channel_for(rank, id).give_up(rank, sequence, late, d);
  }
  d.carry_out(*carrier_);
}

void hub::pending(int rank, std::vector<std::string>& lines) {
  std::lock_guard const lock(mutex_);
  for (auto& [id, all] : channels_)
    for (channel& c : all) c.pending(rank, lines);
}

void hub::buffers_ready(request& r, std::exception_ptr const& e) noexcept {
  decisions d(*this);
  {
    std::lock_guard const lock(mutex_);
    if (r.decided) return;
    r.buffers_ready = true;
    channel& c = *static_cast<channel*>(r.where);
    c.buffers_ready(r, e, d);
    drop_if_done(c);
  }
  d.carry_out(*carrier_);
}

std::unique_ptr<meeting> hub::retire(meeting& m) noexcept {
  std::lock_guard const lock(mutex_);
  channel& c = *static_cast<channel*>(m.parts.front()->where);
  auto self = c.retire(m);
  drop_if_done(c);
  return self;
}

void hub::close_channel(int rank, std::uint64_t id) noexcept {
  decisions d(*this);
  {
    std::lock_guard const lock(mutex_);
    channel& c = channel_for(rank, id);
    c.close(rank, d);
    drop_if_done(c);
  }
  d.carry_out(*carrier_);
}

void hub::leave(int rank, errc code, std::string const& reason) noexcept {
  decisions d(*this);
  {
    std::lock_guard const lock(mutex_);
    departure const why{code, reason};
    if (!roster_.leave(rank, why)) return;
    member_left(rank, why);
    for (auto at = channels_.begin(); at != channels_.end();) {
      auto& all = at->second;
      for (channel& c : all) c.member_left(rank, d);
      all.remove_if([](channel const& c) { return c.is_done(); });
      at = all.empty() ? channels_.erase(at) : std::next(at);
    }
  }
  d.carry_out(*carrier_);
}

void hub::revoke(int rank, std::string const& reason) noexcept {
  decisions d(*this);
  {
    std::lock_guard const lock(mutex_);
    if (!revoked_.empty()) return;
    revoked_ = fmt::format("the group was revoked by {}: {}", roster_.name_rank(rank), reason);
    auto const why = [this](request const& r) {
      return make_failure(make_error_code(errc::revoked), roster_.place(r) + ": " + revoked_);
    };
    for (auto& [id, all] : channels_)
      for (channel& c : all) c.end_all(why, d);
  }
  d.carry_out(*carrier_);
}

void hub::end_all(errc code, std::string const& reason) noexcept {
  decisions d(*this);
  {
    std::lock_guard const lock(mutex_);
    auto const why = [&](request const& r) {
      return make_failure(make_error_code(code), roster_.place(r) + ": " + reason);
    };
    for (auto& [id, all] : channels_)
      for (channel& c : all) c.end_all(why, d);
  }
  d.carry_out(*carrier_);
}

std::string hub::missing(request const& r) {
  std::lock_guard const lock(mutex_);
  auto const after = fmt::format(
      "the deadline of {} ms{} passed",
      std::chrono::duration_cast<std::chrono::duration<double, std::milli>>(r.limit).count(),
      r.limit_from_arrival ? " from the first sign of a peer" : "");
  if (r.where == nullptr) return after + " before it began";
  if (r.decided) return after + ": all ranks have called it, but it is not finished";
  return after + ": " + static_cast<channel*>(r.where)->missing(r);
}

}  // namespace hocket::matching
