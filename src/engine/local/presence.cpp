// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "presence.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "local_hub.hpp"

namespace hocket::local {
namespace {

// From the destruction of a handle to the end of its program: on one thread, but on a machine that
// may have others to run.
constexpr auto unwinding_max = std::chrono::milliseconds(100);

}  // namespace

void presence::joined(std::shared_ptr<local_hub> const& h, int place) {
  std::optional<departure> gone;
  {
    std::lock_guard const lock(mutex_);
    if (seats_.size() >= seats_next_sweep_) {
      std::erase_if(seats_, [](seat const& s) { return s.in.expired(); });
      seats_next_sweep_ = std::max<std::size_t>(16, 2 * seats_.size());
    }
    seats_.push_back({h, place});
    gone = lost_;
  }
  if (gone) h->leave(place, gone->code, gone->reason);
}

void presence::leave(std::shared_ptr<local_hub> const& h, int place, errc code,
                     std::string const& reason) {
  bool const passing = std::uncaught_exceptions() > 0;
  bool const may_be_lost = code == errc::group_closed && (passing || completion::is_under_way());
  auto const told = passing ? reason + ", while an exception passed" : reason;
  if (may_be_lost && leaves_later(h, place, told)) return;
  h->leave(place, code, reason);
}

bool presence::leaves_later(std::shared_ptr<local_hub> const& h, int place,
                            std::string const& reason) {
  std::lock_guard const lock(mutex_);
  if (programs_ == 0) return false;
  leaving_.push_back({h, place, reason});
  if (alarm_) return true;
  alarm_.reset(new alarm([weak = weak_from_this()] {
                 if (auto const self = weak.lock()) self->leave_now();
               }),
               false);
  runtime_.arm(*alarm_, unwinding_max);
  return true;
}

void presence::leave_now() {
  alarm_ptr rung;  // goes after the lock
  std::vector<leaving> all;
  {
    std::lock_guard const lock(mutex_);
    all.swap(leaving_);
    rung.swap(alarm_);
  }
  for (auto const& l : all) l.from->leave(l.place, errc::group_closed, l.reason);
}

void presence::program_began() {
  std::lock_guard const lock(mutex_);
  ++programs_;
}

void presence::program_ended() {
  {
    std::lock_guard const lock(mutex_);
    --programs_;
  }
  leave_now();
}

void presence::lost(errc code, std::string const& why) {
  std::vector<seat> seats;
  {
    std::lock_guard const lock(mutex_);
    lost_ = departure{code, why};
    seats.swap(seats_);
  }
  for (auto const& s : seats)
    if (auto const h = s.in.lock()) h->leave(s.place, code, why);
}

}  // namespace hocket::local
