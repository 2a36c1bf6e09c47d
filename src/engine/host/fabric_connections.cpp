// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Calling peers, being called by them, and losing them.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <hocket/error.hpp>
#include <hocket/log.hpp>
#include <utility>

#include "fabric.hpp"

namespace hocket::host {

using detail::failure;

namespace {

// Connections whose caller has not proved anything yet.
constexpr std::size_t strangers_max = 256;
constexpr auto stranger_patience = std::chrono::seconds(10);
// What a peer said before its connection ended may still have to be read: the connection that it
// has made ends by itself after that, but it may also not have been accepted so far.
constexpr auto last_word_patience = std::chrono::milliseconds(500);
constexpr auto first_word_patience = std::chrono::milliseconds(100);

}  // namespace

failure lost_failure(int peer, std::string const& why) {
  return detail::make_failure(make_error_code(errc::peer_lost),
                              fmt::format("rank {} is lost: {}", peer, why));
}

void fabric::accepted(io::unique_fd socket) {
  drop_silent_strangers();
  if (callers_.size() >= strangers_max + peers_.size()) return;  // closes it
  auto link = std::make_unique<in_link>(*this, me_);
  auto& at = *link;
  callers_[&at].link = std::move(link);
  poller_->add(std::move(socket), at);
}

// Who has not proved in good time that it belongs here.
void fabric::drop_silent_strangers() {
  auto const now = std::chrono::steady_clock::now();
  std::vector<in_link*> silent;
  for (auto const& [link, c] : callers_)
    if (link->peer() < 0 && now - c.since > stranger_patience) silent.push_back(link);
  for (in_link* const link : silent) drop(*link);
}

void fabric::greeted(in_link& from) {
  for (auto const& [link, c] : callers_)
    if (link != &from && link->peer() == from.peer())
      throw error(errc::corrupt, fmt::format("rank {} calls a second time", from.peer()));
  if (auto const gone = lost_.find(from.peer()); gone != lost_.end())
    throw error(errc::peer_lost,
                fmt::format("rank {} comes back, but is lost: {}", from.peer(), gone->second));
}

void fabric::ended(in_link& from, std::string const& why) {
  int const rank = from.peer();
  drop(from);
  if (rank >= 0) {
    lose_locked(rank, why);
  } else if (!why.empty()) {
    log(log_level::debug, "a connection from a stranger was closed: " + why);
  }
}

void fabric::drop(in_link& from) {
  auto const found = callers_.find(&from);
  if (found == callers_.end() || std::exchange(found->second.is_leaving, true)) return;
  poller_->remove(from, [this, at = &from] {
    auto const gone = callers_.find(at);
    dead_callers_.push_back(std::move(gone->second.link));
    callers_.erase(gone);
    if (lost_.contains(at->peer())) fail_landings(at->peer());
  });
}

bool fabric::is_calling(int rank) const {
  return std::ranges::any_of(callers_, [rank](auto const& c) { return c.first->peer() == rank; });
}

// Nobody writes to the places any more.
void fabric::fail_landings(int rank) {
  if (is_calling(rank)) return;
  for (auto at = landings_.begin(); at != landings_.end();) {
    if (at->second.peer != rank) {
      ++at;
      continue;
    }
    tell(at->second.then, lost_failure(rank, lost_.at(rank)));
    at = landings_.erase(at);
  }
}

peer& fabric::peer_at(int rank) {
  auto& p = peers_[rank];
  if (!p) {
    p = std::make_unique<peer>();
    p->link.peer = rank;
    p->link.owner = this;
    p->link.on_end = &link_ended;
    p->link.on_speak = [](out_link& link) noexcept {
      static_cast<fabric*>(link.owner)->poller_->kick(link);
    };
    dial(*p);
  }
  return *p;
}

void fabric::dial(peer& p) {
  p.place = places_.at(static_cast<std::size_t>(p.link.peer));
  p.can_read = reads_memory_ && p.place.host == host_;
  try_next_address(p, "");
  runtime_.wake();
}

void fabric::try_next_address(peer& p, std::string const& why) {
  p.complaints += why;
  if (p.next_address == p.place.addresses.size()) return suspect(p.link.peer, p.complaints);
  auto const& a = p.place.addresses[p.next_address++];
  try {
    p.calling = std::make_unique<io::connector>(
        *poller_, a, [this, &p](boost::system::error_code code, io::unique_fd socket) {
          connected(p, code, std::move(socket));
        });
  } catch (std::exception const& e) {
    suspect(p.link.peer, e.what());
  }
}

void fabric::connected(peer& p, boost::system::error_code why, io::unique_fd socket) {
  auto const to = p.place.addresses[p.next_address - 1].to_string();
  auto const done = std::move(p.calling);
  if (why) return try_next_address(p, fmt::format("{}: {}; ", to, why.message()));
  p.link.begin(me_);
  poller_->add(std::move(socket), p.link);
}

void fabric::link_ended(out_link& link, boost::system::error_code why) noexcept {
  auto& self = *static_cast<fabric*>(link.owner);
  auto const story = link.fault().empty() ? why.message() : link.fault();
  if (!link.is_over()) self.poller_->remove(link, [] {});
  self.suspect(link.peer, story);
}

// It cannot be called; what it said before that is still heard.
void fabric::suspect(int rank, std::string const& why) {
  if (stopping_ || lost_.contains(rank)) return;
  doubts_.emplace(rank, doubt{why, std::chrono::steady_clock::now()});
  runtime_.wake();
}

// True: the last word of somebody is still waited for.
bool fabric::settle_doubts() {
  auto const now = std::chrono::steady_clock::now();
  for (auto at = doubts_.begin(); at != doubts_.end();) {
    auto const [rank, d] = *at;
    auto const patience = is_calling(rank) ? last_word_patience : first_word_patience;
    bool const is_over = lost_.contains(rank) || now - d.since > patience;
    at = is_over ? doubts_.erase(at) : std::next(at);
    if (is_over) lose_locked(rank, d.why);
  }
  return !doubts_.empty();
}

void fabric::lose(int rank, std::string const& why) {
  {
    std::lock_guard const lock(mutex_);
    lose_locked(rank, why);
  }
  runtime_.wake();
}

void fabric::lose_locked(int rank, std::string const& why) {
  if (stopping_ || !lost_.emplace(rank, why).second) return;
  log(log_level::debug, fmt::format("rank {} has lost rank {}: {}", me_.rank, rank, why));
  if (auto const at = peers_.find(rank); at != peers_.end()) {
    peer& p = *at->second;
    p.calling.reset();
    if (!p.link.is_over() && p.link.is_open()) poller_->remove(p.link, [] {});
    p.link.ended({});
  }
  std::vector<in_link*> calling;
  for (auto const& [link, c] : callers_)
    if (link->peer() == rank) calling.push_back(link);
  for (in_link* const link : calling) drop(*link);
  fail_landings(rank);
  std::vector<std::uint64_t> exposed;
  for (auto const& [id, e] : exposures_) exposed.push_back(id);
  for (auto const id : exposed) release_locked(id, rank, {});
  auto& r = inbox_.add();
  r.from = rank;
  r.is_loss = true;
  r.why = why;
}

}  // namespace hocket::host
