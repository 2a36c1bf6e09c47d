// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <chrono>
#include <cstdint>
#include <hocket/async/detail/op_base.hpp>
#include <hocket/detail/block_pool.hpp>
#include <hocket/group/request.hpp>
#include <memory>
#include <vector>

#include "pool_allocator.hpp"

namespace hocket::matching {

class hub;

/// Where the requests of one collective meet.
class meeting final : public detail::pooled {
 public:
  meeting(int n, std::uint64_t number)
      : sequence(number),
        parts(static_cast<std::size_t>(n), nullptr),
        came(static_cast<std::size_t>(n), false) {}
  /// It has been carried out, or has failed: all parts end. The meeting is gone afterwards.
  void finish(detail::failure const& f) noexcept;

  [[nodiscard]] bool failed() const noexcept { return verdict.exception != nullptr; }

  std::uint64_t const sequence;
  std::vector<request*, detail::pool_allocator<request*>> parts;  // null: not here yet, or ended
  std::vector<bool, detail::pool_allocator<bool>> came;           // both by group rank
  request const* model = nullptr;  // what others are compared with: the part that says most
  std::chrono::steady_clock::time_point const since = std::chrono::steady_clock::now();
  int arrived = 0;
  int unready = 0;              // parts whose buffers may not be touched yet
  bool awaits_arrival = false;  // a part's deadline begins when a peer has come
  bool running = false;
  detail::failure verdict;  // set: every part fails with it
  std::shared_ptr<hub> at;  // while it runs
  meeting* next = nullptr;  // in a queue of its carrier
};

}  // namespace hocket::matching
