// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <atomic>
#include <cstddef>
#include <hocket/async/detail/op_base.hpp>
#include <span>

namespace hocket::detail {

/// Where a combined op delivers: where its first child with a home does.
[[nodiscard]] port_ptr first_home(std::span<op_ref const> children);

/// Follows the children of a combined op and passes their end on: the waits of the combined op end
/// when all children have settled, and it finishes when all have finished. The first failure in the
/// order of the children wins; a child that is an empty handle counts as failed.
class join_all {
 public:
  struct link : continuation {
    join_all* all = nullptr;
    op_base* child = nullptr;
  };

  join_all() = default;
  join_all(join_all const&) = delete;
  join_all& operator=(join_all const&) = delete;

  /// Keeps `whole`, which owns the children and the links, alive until all have finished.
  void start(op_base& whole, std::span<op_ref const> children, std::span<link> links);
  /// Drives the children that are pending, while the caller keeps `whole`.
  [[nodiscard]] bool drive();

 private:
  static void child_settled(continuation* c) noexcept;
  static void child_finished(continuation* c) noexcept;
  void one_settled();
  void one_finished();

  op_ref whole_;
  std::span<link> links_;
  std::atomic<std::size_t> unsettled_{0};
  std::atomic<std::size_t> unfinished_{0};
};

}  // namespace hocket::detail
