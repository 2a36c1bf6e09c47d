// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "meetings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <hocket/detail/assert.hpp>
#include <hocket/error.hpp>
#include <utility>

#include "hub.hpp"

namespace hocket::matching {

using detail::failure;
using detail::make_failure;

void meeting::finish(failure const& f) noexcept {
  auto const hub = std::move(at);
  auto const self = hub->retire(*this);
  for (request* r : parts) r->complete(own_copy(f));
}

meetings::meetings(attendance const& members) : members_(members), slots_(4) {}

meeting& meetings::at(std::uint64_t sequence) {
  HOCKET_ASSERT(sequence >= base_);
  auto const index = static_cast<std::size_t>(sequence - base_);
  while (slots_.size() <= index) {
    if (slots_.full()) slots_.set_capacity(2 * slots_.capacity());
    slots_.push_back(slot());
  }
  auto& m = slots_[index].m;
  if (!m) m = std::make_unique<meeting>(members_.size(), sequence);
  return *m;
}

meeting* meetings::find(std::uint64_t sequence) noexcept {
  if (sequence < base_ || sequence - base_ >= slots_.size()) return nullptr;
  auto const& s = slots_[static_cast<std::size_t>(sequence - base_)];
  return s.over ? nullptr : s.m.get();
}

void meetings::meet(request& r, decisions& d) {
  meeting& m = at(r.sequence);
  auto const rank = static_cast<std::size_t>(r.rank);
  HOCKET_ASSERT(!m.came[rank]);
  m.came[rank] = true;
  ++m.arrived;
  if (r.local.exception) {  // a rank's own fault is what it is told, whatever the others did
    if (!m.failed()) m.verdict = members_.all().failed_peer(r);
    d.end(r, r.local);
  } else if (m.failed()) {
    d.end(r, m.verdict);
  } else {
    m.parts[rank] = &r;
    if (!r.buffers_ready) ++m.unready;
    m.awaits_arrival |= r.awaits_arrival();
    judge(m, r, d);
  }
  if (m.awaits_arrival && m.arrived > 1) announce(m, d);
  settle(m, d);
  trim();
  // Its deadline may have passed before it came here.
  if (r.print.kind == op_kind::monitored_barrier && r.op->decided() != detail::verdict::pending &&
      !r.decided)
    give_up(r, d);
}

// Deadlines that count from the first sign of a peer begin.
void meetings::announce(meeting& m, decisions& d) {
  for (request* const r : m.parts)
    if (r != nullptr) r->first_sign(d.at().rt());
}

// Compares a part that has just come with those that were there, and with who can still come.
void meetings::judge(meeting& m, request& r, decisions& d) {
  if (m.model == nullptr) {
    m.model = &r;
  } else if (auto const found = compare(m.model->print, r.print); found != difference::none) {
    bool const in_order = m.model->rank < r.rank;
    m.verdict = make_failure(
        make_error_code(errc::mismatch),
        fmt::format("{}: {}, {}: {}", members_.all().place(r), describe(in_order ? *m.model : r),
                    describe(in_order ? r : *m.model), describe(found)));
    if (found == difference::kind) desynchronise(m, d);
    return;
  } else if (r.print.has_shape && !m.model->print.has_shape) {
    m.model = &r;
  }
  if (!members_.anyone_gone()) return;
  for (int rank = 0; rank < members_.size(); ++rank) {
    if (m.came[static_cast<std::size_t>(rank)] || !members_.is_gone(rank)) continue;
    m.verdict = members_.absent(rank, r);
    return;
  }
}

// Later operations of the channel fail at once, also those that wait already.
void meetings::desynchronise(meeting const& m, decisions& d) {
  if (out_of_step_.exception) return;
  last_in_step_ = m.sequence;
  out_of_step_ = make_failure(
      make_error_code(errc::desynchronised),
      what_of(m.verdict.exception) + "; the channel is out of step since then: use another");
  for (auto number = m.sequence + 1; number < base_ + slots_.size(); ++number) {
    meeting* const later = find(number);
    if (later == nullptr || later->running || later->failed()) continue;
    later->verdict = out_of_step_;
    settle(*later, d);
  }
}

bool meetings::can_meet(request const& r) const noexcept {
  constexpr std::uint64_t ahead_max = 1 << 20;
  if (r.sequence < base_ || r.sequence - base_ > ahead_max) return false;
  if (r.sequence - base_ >= slots_.size()) return true;
  auto const& s = slots_[static_cast<std::size_t>(r.sequence - base_)];
  return !s.over && (!s.m || !s.m->came[static_cast<std::size_t>(r.rank)]);
}

bool meetings::is_too_late(request const& r) noexcept {
  return out_of_step_.exception && r.sequence > last_in_step_ && find(r.sequence) == nullptr;
}

bool meetings::is_expected(meeting const& m, int rank) const noexcept {
  return !m.came[static_cast<std::size_t>(rank)] && !members_.is_gone(rank);
}

// Ends the parts of a failed meeting, starts one that is complete.
void meetings::settle(meeting& m, decisions& d) {
  if (m.running) return;
  if (m.failed()) {
    end_parts(m, d);
    for (int rank = 0; rank < members_.size(); ++rank)
      if (is_expected(m, rank)) return;
    return mark_over(m.sequence);
  }
  if (m.arrived < members_.size() || m.unready > 0) return;
  m.running = true;
  m.at = d.at().shared_from_this();
  d.run(m);
}

void meetings::end_parts(meeting& m, decisions& d) {
  for (auto& part : m.parts)
    if (part != nullptr) d.end(*std::exchange(part, nullptr), m.verdict);
}

void meetings::mark_over(std::uint64_t sequence) noexcept {
  slots_[static_cast<std::size_t>(sequence - base_)].over = true;
}

void meetings::trim() noexcept {
  while (!slots_.empty() && slots_.front().over) {
    slots_.pop_front();
    ++base_;
  }
}

std::unique_ptr<meeting> meetings::retire(meeting& m) noexcept {
  for (request* r : m.parts) r->decided = true;
  auto self = std::move(slots_[static_cast<std::size_t>(m.sequence - base_)].m);
  mark_over(m.sequence);
  trim();
  return self;
}

void meetings::buffers_ready(request& r, std::exception_ptr const& e, decisions& d) {
  meeting* const m = find(r.sequence);
  auto const rank = static_cast<std::size_t>(r.rank);
  if (m == nullptr || m->parts[rank] != &r) return;
  --m->unready;
  if (e) {
    m->parts[rank] = nullptr;
    d.end(r, r.local);
    m->verdict = members_.all().failed_peer(r);
  }
  settle(*m, d);
  trim();
}

void meetings::give_up(request& r, decisions& d) {
  meeting* const m = find(r.sequence);
  if (m == nullptr || m->parts[static_cast<std::size_t>(r.rank)] != &r) return;
  give_up(r.rank, r.sequence, r.op->decided() == detail::verdict::expired, d);
}

void meetings::give_up(int rank, std::uint64_t sequence, bool late, decisions& d) {
  meeting* const m = find(sequence);
  if (m == nullptr || m->running) return;
  request const* const r = m->parts[static_cast<std::size_t>(rank)];
  if (r == nullptr || r->print.kind != op_kind::monitored_barrier) return;
  auto const& all = members_.all();
  m->verdict = make_failure(
      make_error_code(late ? errc::timed_out : errc::peer_failed),
      fmt::format("{}: {} waited until {}; not called by {}", all.place(*r), all.name_rank(rank),
                  late ? "its deadline passed" : "it was cancelled", missing(sequence)));
  settle(*m, d);
  trim();
}

void meetings::pending(int rank, std::vector<std::string>& lines) {
  auto const now = std::chrono::steady_clock::now();
  for (auto& s : slots_) {
    meeting const* const m = s.m.get();
    if (m == nullptr || s.over || m->running) continue;
    request const* const r = m->parts[static_cast<std::size_t>(rank)];
    if (r == nullptr) continue;
    auto const ms = std::chrono::duration<double, std::milli>(now - m->since);
    auto const ranks = missing(m->sequence);
    lines.push_back(fmt::format(
        "{}: {}: {:.0f} ms after the first call of it {}", members_.all().place(*r), describe(*r),
        ms.count(), ranks.empty() ? "buffers are not ready" : "it is not called by " + ranks));
  }
}

void meetings::member_left(int rank, decisions& d) {
  for (auto& s : slots_) {
    meeting* const m = s.m.get();
    if (m == nullptr || s.over || m->running || m->came[static_cast<std::size_t>(rank)]) continue;
    if (!m->failed()) m->verdict = members_.absent(rank, *m->model);
    settle(*m, d);
  }
  trim();
}

void meetings::end_all(std::function<failure(request const&)> const& why, decisions& d) {
  for (auto& s : slots_) {
    meeting* const m = s.m.get();
    if (m == nullptr || s.over || m->running) continue;
    if (!m->failed()) m->verdict = why(*m->model);
    end_parts(*m, d);
    s.over = true;
  }
  trim();
}

std::string meetings::missing(std::uint64_t sequence) noexcept {
  meeting const* const m = find(sequence);
  std::string ranks;
  for (int rank = 0; m != nullptr && rank < members_.size(); ++rank)
    if (!m->came[static_cast<std::size_t>(rank)])
      ranks += (ranks.empty() ? "" : ", ") + members_.all().name_rank(rank);
  return ranks;
}

}  // namespace hocket::matching
