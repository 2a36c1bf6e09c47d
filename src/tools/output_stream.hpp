// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/unique_fd.hpp"
#include "line_relay.hpp"

namespace hocket::tools {

using detail::unique_fd;

/// Reads one stream of all ranks and writes it to one descriptor through a `line_relay`. When that
/// descriptor's reader is gone, so is the ranks': they see it as if they had been writing there.
class output_stream {
 public:
  using clock = std::chrono::steady_clock;
  /// How long an unfinished long line may be silent while other ranks wait for it.
  static constexpr std::chrono::milliseconds silence_max{1000};

  output_stream(int to, std::size_t ranks, bool labelled, std::size_t first);

  void add(std::size_t rank, unique_fd from);
  /// Sees every byte that is read.
  void on_read(std::function<void(std::size_t rank, std::string_view bytes)> watch) {
    watch_ = std::move(watch);
  }

  /// Appends what to wait for: always `1 + ranks` entries, in which `serve` finds the answers.
  void watch_for(std::vector<pollfd>& all) const;
  void serve(std::span<pollfd const> ready);
  /// When `serve` has something to do even if no descriptor is ready.
  [[nodiscard]] std::optional<clock::time_point> wakes_at() const;

  /// No process is left that could write: takes what still stands in the pipes and closes them.
  void finish();
  /// Whether all is read and written.
  [[nodiscard]] bool is_done() const;
  /// errno of the write that failed, 0 if none did or the reader merely left.
  [[nodiscard]] int failure() const { return failure_; }
  [[nodiscard]] line_relay const& relay() const { return relay_; }

 private:
  void read_some(std::size_t rank);
  void write_some();
  void abandon(int code);

  int to_;
  line_relay relay_;
  std::vector<unique_fd> from_;
  std::function<void(std::size_t, std::string_view)> watch_;
  clock::time_point owner_spoke_{};
  bool is_broken_ = false;
  int failure_ = 0;
};

}  // namespace hocket::tools
