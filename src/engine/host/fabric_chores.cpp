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
  peer const& p = peer_at(rank);
  return p.is_found && p.can_read;
}

bool fabric::read_now(int rank, std::uint64_t address, std::byte* to, std::size_t bytes) {
  ::pid_t process = 0;
  {
    std::lock_guard const lock(mutex_);
    if (auto const gone = lost_.find(rank); gone != lost_.end())
      throw error(errc::peer_lost, fmt::format("rank {} is lost: {}", rank, gone->second));
    process = peer_at(rank).place.process;
  }
  auto const code = read_memory(process, address, to, bytes);
  if (!code) return true;
  if (code == boost::system::errc::operation_not_permitted ||
      code == boost::system::errc::function_not_supported) {
    std::lock_guard const lock(mutex_);
    if (std::exchange(peer_at(rank).can_read, false))
      log(log_level::info,
          fmt::format("the memory of rank {} cannot be read ({}): its bytes come over a socket",
                      rank, code.message()));
    return false;
  }
  auto const story = fmt::format("{} bytes of rank {}, process {}, could not be read: {}", bytes,
                                 rank, process, code.message());
  if (code == boost::system::errc::no_such_process) throw error(errc::peer_lost, story);
  throw error(code, story);
}

void fabric::take_up(chore& c) noexcept {
  {
    std::lock_guard const lock(mutex_);
    chores_.push_back(&c);
  }
  runtime_.wake();
}

void fabric::listen(std::uint64_t id, note_listener& l) {
  std::lock_guard const lock(mutex_);
  exposure& e = *exposures_.at(id);
  e.listener = &l;
  for (auto& [from, said] : std::exchange(e.notes, {})) {
    auto& r = inbox_.add();
    r.from = from;
    r.listener = &l;
    r.said = std::move(said);
  }
}

// Under the lock. A taker has one.
void fabric::take_note(std::uint64_t id, int taker, note n) {
  auto const at = exposures_.find(id);
  if (at == exposures_.end()) return;
  exposure& e = *at->second;
  e.release(taker);
  if (!e.has_notes) return;
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
