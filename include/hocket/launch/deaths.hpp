// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <functional>
#include <hocket/group/store.hpp>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

namespace hocket {

/// What `hocket run` writes into its store when a rank's process has ended before its time: under
/// `dead_rank_key(rank)` the story, and under `death_key(n)`, n = 0, 1, 2 ... in the order of the
/// deaths, the rank, a space and the story.
[[nodiscard]] std::string dead_rank_key(int rank);
/// See `dead_rank_key`.
[[nodiscard]] std::string death_key(int n);

/// Hears of the deaths of ranks, also of those before it began, from the job's launcher.
///
/// One pending call of the store: outstanding work of its executor until this object is destroyed
/// or the store is gone. The callback runs on that executor.
class death_watch {
 public:
  /// Gets the rank and the story.
  using callback = std::function<void(int rank, std::string_view story)>;

  /// Begins to listen at once.
  death_watch(std::shared_ptr<store> const& s, callback heard);
  /// The callback is not called any more once the executor has run what this posts.
  ~death_watch();
  death_watch(death_watch const&) = delete;
  death_watch& operator=(death_watch const&) = delete;

 private:
  std::stop_source stop_;
};

}  // namespace hocket
