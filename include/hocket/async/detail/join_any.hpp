// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <hocket/async/detail/join_all.hpp>
#include <span>

namespace hocket::detail {

/// Follows the children of a combined op until the first one settles, and finishes the op with it.
/// The others are let go at once: a loop that waits for the same slow child leaves nothing in it.
class join_any {
 public:
  struct link : continuation {
    join_any* any = nullptr;
    op_base* child = nullptr;
  };

  join_any() = default;
  join_any(join_any const&) = delete;
  join_any& operator=(join_any const&) = delete;

  /// `whole` owns the children and the links; each registered link keeps it alive.
  void start(op_base& whole, std::span<op_ref const> children, std::span<link> links);
  /// Drives the children, while the caller keeps `whole`.
  [[nodiscard]] bool drive();
  /// The index of the winner, once settled.
  [[nodiscard]] std::size_t winner() const noexcept { return winner_; }

 private:
  static constexpr std::size_t none = ~std::size_t{0};

  static void child_settled(continuation* c) noexcept;
  void win(std::size_t index);
  void let_go(link& l) noexcept;

  op_base* whole_ = nullptr;
  std::span<link> links_;
  std::atomic<bool> decided_{false};
  std::size_t winner_ = none;
};

}  // namespace hocket::detail
