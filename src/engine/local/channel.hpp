// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <deque>
#include <hocket/async/detail/op_base.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric.hpp"
#include "mailbox.hpp"

namespace hocket::local {

class hub;

/// Why a member will not come any more.
struct departure {
  errc code;
  std::string reason;
};

/// Where the requests of one collective meet.
class meeting final : public job {
 public:
  meeting(int n, std::uint64_t of_channel, std::uint64_t number)
      : channel(of_channel),
        sequence(number),
        parts(static_cast<std::size_t>(n), nullptr),
        came(static_cast<std::size_t>(n), false) {}
  /// Moves the bytes and completes all parts. Everybody has come, the hub's lock is not held.
  void run() noexcept override;

  [[nodiscard]] bool failed() const noexcept { return verdict.exception != nullptr; }

  std::uint64_t const channel;
  std::uint64_t const sequence;
  std::vector<request*> parts;    // by group rank; null: not here yet, or failed and gone
  std::vector<bool> came;
  int arrived = 0;
  int unready = 0;                // parts whose buffers may not be touched yet
  bool running = false;
  bool out_of_step = false;       // the members called different operations
  detail::failure verdict;        // set: every part fails with it
  std::shared_ptr<hub> at;        // while it runs
};

/// One channel of a group: an own sequence space.
class channel {
 public:
  explicit channel(int n) : boxes(static_cast<std::size_t>(n)), gone(static_cast<std::size_t>(n)) {}

  struct slot {
    std::unique_ptr<meeting> m;
    bool over = false;
  };
  /// The meeting of that number, made if nobody was there before.
  meeting& meeting_at(std::uint64_t id, std::uint64_t sequence);
  [[nodiscard]] meeting* find(std::uint64_t sequence) noexcept;
  /// Takes the meeting out; its number is never used again.
  std::unique_ptr<meeting> end(std::uint64_t sequence);
  [[nodiscard]] std::deque<slot>& slots() noexcept { return slots_; }

  std::deque<mailbox> boxes;                    // by receiving member
  std::vector<std::optional<departure>> gone;   // members that have closed this channel
  detail::failure desynchronised;

 private:
  std::uint64_t base_ = 0;  // number of the first slot
  std::deque<slot> slots_;
};

}  // namespace hocket::local
