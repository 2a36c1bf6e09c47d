// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// How what is under way in a fabric ends before its time, and what is told about it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <hocket/error.hpp>
#include <hocket/log.hpp>
#include <thread>
#include <utility>

#include "fabric.hpp"
#include "forks.hpp"
#include "memory_reader.hpp"

namespace hocket::host {

using detail::failure;
using detail::make_failure;

fabric::~fabric() { stop(clock::duration::zero()); }

bool fabric::is_in_child() const noexcept { return forks_of_this_process() != forks_; }

void fabric::tell(arrival* then, failure const& why) {
  auto& r = inbox_.add();
  r.then = then;
  r.failure = why;
}

void fabric::stop(clock::duration limit) noexcept {
  if (is_in_child()) {  // sockets and epoll are the parent's
    static_cast<void>(new auto(std::move(peers_)));
    for (auto& l : listeners_) static_cast<void>(l.release());
    static_cast<void>(status_.release());
    static_cast<void>(poller_.release());
    return;
  }
  std::string const why = "the last handle of its world was dropped";
  std::vector<std::shared_ptr<mailbox>> boxes;
  {
    std::lock_guard const lock(mutex_);
    if (std::exchange(leaving_, true)) return;
    for (auto const& [id, box] : groups_) boxes.push_back(box);
    if (strangers_) boxes.push_back(strangers_);
  }
  for (auto const& box : boxes) box->world_ends(why);
  runtime_.detach(*this);
  auto const end = std::chrono::steady_clock::now() + limit;
  while (say_farewell() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  {
    std::lock_guard const lock(mutex_);
    stopping_ = true;
    listeners_.clear();
    status_.reset();
    for (auto& [rank, p] : peers_) p->calling.reset();
    break_seal();
    poller_.reset();
    end_waits(make_failure(make_error_code(errc::group_closed),
                           fmt::format("rank {} has left its world", me_.rank)));
  }
  do {
    while (do_chore()) {
    }
  } while (handle_what_came());
  for (auto const& box : boxes) box->world_ended(why);
  std::lock_guard const lock(mutex_);
  groups_.clear();
  strangers_.reset();
}

// True: others still need something.
bool fabric::say_farewell() noexcept {
  bool busy = false;
  {
    std::lock_guard const lock(mutex_);
    if (poller_) poller_->poll();
    busy = is_busy();
  }
  return handle_what_came() || busy;
}

// For when the world ends: this may be inside a call of `deliver`. True: there was something.
bool fabric::handle_what_came() noexcept {
  inbox came;
  {
    std::lock_guard const lock(mutex_);
    swap(inbox_, came);
  }
  for (auto& what : came.items()) handle(what);
  return !came.empty();
}

// What living peers still wait for, those that have not answered so far, too.
bool fabric::is_busy() const {
  for (auto const& [id, e] : exposures_)
    if (std::ranges::any_of(e->takers(), [this](int r) { return !lost_.contains(r); })) return true;
  return std::ranges::any_of(peers_, [this](auto const& p) {
    return !lost_.contains(p.first) && !p.second->link.is_over() && !p.second->link.idle();
  });
}

// Nothing is moved any more.
void fabric::end_waits(failure const& why) {
  for (auto const& r : readings_) tell(r.what.then, why);
  readings_.clear();
  for (auto const& [id, t] : landings_) tell(t.then, why);
  landings_.clear();
  for (auto const& [id, e] : exposures_) {
    end_notes(id, why);
    if (e->then != nullptr) tell(e->then, why);
  }
  exposures_.clear();
}

void fabric::cancel(arrival& then, failure const& why) noexcept {
  {
    std::lock_guard const lock(mutex_);
    cancel_locked(&then, why);
  }
  runtime_.wake();
}

void fabric::cancel_locked(arrival* then, failure const& why) {
  std::erase_if(readings_, [&](reading const& r) {
    if (r.what.then != then) return false;
    tell(then, why);
    return true;
  });
  if (being_read_ != nullptr && being_read_->what.then == then) being_read_->cancelled = why;
  // A ring may be writing to the place right now, epoll's reads are over when they return.
  bool const is_ring = poller_ && poller_->name() != "epoll";
  for (auto at = landings_.begin(); at != landings_.end();) {
    if (at->second.then != then) {
      ++at;
      continue;
    }
    bool is_arriving = false;
    for (auto const& [link, c] : callers_) {
      is_arriving = is_arriving || link->is_receiving(at->first);
      if (!is_ring) link->forsake(at->first);
    }
    if (is_ring && is_arriving) {
      at->second.cancelled = why;
      ++at;
    } else {
      tell(then, why);
      at = landings_.erase(at);
    }
  }
}

void fabric::recall(std::uint64_t id, failure const& why) noexcept {
  if (id == 0) return;
  {
    std::lock_guard const lock(mutex_);
    auto const at = exposures_.find(id);
    if (at == exposures_.end()) return;
    break_seal();
    for (auto& [rank, p] : peers_) {
      if (p->link.is_over()) continue;
      p->link.recall(id);
      if (p->link.is_open()) poller_->kick(p->link);
    }
    end_notes(id, why);
    if (at->second->listener == nullptr) decline_notes(*at->second);
    if (at->second->then != nullptr) tell(at->second->then, why);
    exposures_.erase(at);
  }
  runtime_.wake();
}

std::vector<int> fabric::takers_of(std::uint64_t id) {
  std::lock_guard const lock(mutex_);
  auto const at = exposures_.find(id);
  return at == exposures_.end() ? std::vector<int>() : at->second->takers();
}

std::string fabric::stage_of(int rank) {
  std::lock_guard const lock(mutex_);
  if (auto const gone = lost_.find(rank); gone != lost_.end()) return "it is lost: " + gone->second;
  auto const at = peers_.find(rank);
  bool const calls = is_calling(rank);
  if (at == peers_.end()) return calls ? "it is connected" : "nobody has called it";
  peer const& p = *at->second;
  if (p.link.is_open())
    return calls ? "it is connected" : "it is connected, but has not called back";
  if (p.calling) return "its address does not answer yet";
  return "it is called, but does not answer the greeting";
}

void fabric::report(log_level level) noexcept {
  if (!log_enabled(level)) return;
  try {
    std::vector<std::shared_ptr<mailbox>> boxes;
    std::vector<std::string> lines;
    {
      std::lock_guard const lock(mutex_);
      for (auto const& [id, box] : groups_) boxes.push_back(box);
      if (strangers_) boxes.push_back(strangers_);
      for (auto const& [rank, p] : peers_) {
        if (!p->link.is_open() && !lost_.contains(rank))
          lines.push_back(fmt::format("rank {} is called and has not answered", rank));
        if (auto const bytes = p->link.waiting_bytes(); bytes > 0)
          lines.push_back(fmt::format("{} bytes of frames wait for rank {}", bytes, rank));
      }
      for (auto const& [rank, why] : lost_)
        lines.push_back(fmt::format("rank {} is lost: {}", rank, why));
    }
    for (auto const& box : boxes) box->report(lines);
    if (lines.empty()) lines.emplace_back("nothing is pending");
    for (auto const& line : lines) log(level, fmt::format("rank {}: {}", me_.rank, line));
  } catch (std::exception const& e) {
    log(log_level::error, e.what());
  }
}

}  // namespace hocket::host
