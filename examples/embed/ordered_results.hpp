// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "embed_job.hpp"

namespace embed {

/// Gives results to a client in the order of their requests, in whatever order they come.
class ordered_results {
 public:
  explicit ordered_results(client& c) noexcept : client_(c) {}

  /// What the client throws comes out here.
  void add(std::size_t index, std::span<float const> embedding) {
    early_.emplace(index, std::vector<float>(embedding.begin(), embedding.end()));
    for (auto first = early_.begin(); first != early_.end() && first->first == next_;
         first = early_.erase(first)) {
      client_.take(first->first, first->second);
      ++next_;
    }
  }

 private:
  client& client_;
  std::size_t next_ = 0;
  std::map<std::size_t, std::vector<float>> early_;  // no more than are in flight
};

}  // namespace embed
