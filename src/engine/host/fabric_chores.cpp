// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// What the fabric does for operations that read and answer in several steps.
#include <fmt/format.h>

#include <hocket/error.hpp>
#include <hocket/log.hpp>
#include <utility>

#include "fabric.hpp"
#include "memory_reader.hpp"

namespace hocket::host {

bool fabric::can_read(int rank) {
  std::lock_guard const lock(mutex_);
  if (lost_.contains(rank)) return false;
  return peer_at(rank).can_read;
}

bool fabric::read_now(int rank, std::uint64_t address, std::uint32_t seal, std::byte* to,
                      std::size_t bytes) noexcept {
  foreign_bytes from;
  from.bytes = bytes;
  from.address = address;
  {
    std::lock_guard const lock(mutex_);
    if (lost_.contains(rank)) return false;
    peer const& p = peer_at(rank);
    from.process = p.place.process;
    from.seal_address = p.place.seal;
  }
  std::uint32_t found = 0;
  auto const code = read_memory(from, to, found);
  if (!code && found == seal) return true;
  bool const refused = code == boost::system::errc::operation_not_permitted ||
                       code == boost::system::errc::function_not_supported;
  std::lock_guard const lock(mutex_);
  if (refused && std::exchange(peer_at(rank).can_read, false))
    log(log_level::info,
        fmt::format("the memory of rank {} cannot be read ({}): its bytes come over a socket", rank,
                    code.message()));
  return false;
}

bool fabric::do_chore() noexcept {
  chore* next = nullptr;
  {
    std::lock_guard const lock(mutex_);
    if (chores_.empty()) return false;
    next = chores_.front();
    chores_.pop_front();
  }
  if (next->step()) take_up(*next);
  return true;
}

void fabric::take_up(chore& c) noexcept {
  {
    std::lock_guard const lock(mutex_);
    chores_.push_back(&c);
  }
  runtime_.wake();
}

bool fabric::listen(std::uint64_t id, note_listener& l) {
  std::lock_guard const lock(mutex_);
  auto const at = exposures_.find(id);
  if (at == exposures_.end()) return false;
  exposure& e = *at->second;
  e.listener = &l;
  for (auto& [from, said] : std::exchange(e.notes, {})) {
    auto& r = inbox_.add();
    r.from = from;
    r.listener = &l;
    r.said = std::move(said);
  }
  return true;
}

// Under the lock: nobody here will fetch what the taker offers in turn.
void fabric::decline(int taker, note const& n) {
  if (n.exposure == 0 || stopping_ || lost_.contains(taker)) return;
  letter l;
  l.head.kind = frame_kind::fetched;
  l.head.address = n.exposure;
  peer& p = peer_at(taker);
  p.link.send(std::move(l));
  speak(p);
}

// Under the lock: the call has ended, and nobody will listen.
void fabric::decline_notes(exposure& e) {
  e.has_notes = false;
  for (auto const& [from, said] : std::exchange(e.notes, {})) decline(from, said);
}

// Under the lock: who has not said anything will not.
void fabric::end_notes(std::uint64_t id, detail::failure const& why) {
  exposure const& e = *exposures_.at(id);
  if (!e.has_notes) return;
  note n;
  n.why = why;
  for (int const taker : e.takers()) take_note(id, taker, n);
}

// Under the lock. A taker that is released has one.
void fabric::take_note(std::uint64_t id, int taker, note n) {
  auto const at = exposures_.find(id);
  if (at == exposures_.end()) return;
  exposure& e = *at->second;
  if (e.listener == nullptr) {
    e.notes.emplace_back(taker, std::move(n));
    return;
  }
  auto& r = inbox_.add();
  r.from = taker;
  r.listener = e.listener;
  r.said = std::move(n);
}

}  // namespace hocket::host
