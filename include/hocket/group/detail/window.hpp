// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <hocket/async/detail/op_base.hpp>
#include <hocket/detail/hook.hpp>
#include <hocket/detail/spin_lock.hpp>
#include <string>

namespace hocket::detail {

/// How much a channel takes before it pushes back.
struct window_limits {
  std::size_t ops = 1024;
  std::uint64_t bytes = std::uint64_t{256} << 20;
};

/// An op's place in the window of its channel.
struct window_place : hook {
  op_base* op = nullptr;
  std::uint64_t bytes = 0;
  bool counted = false;
  bool inside = false;
};

/// The operations of one channel that are under way on this rank. Those inside the limits are
/// posted; as many again wait behind, in order, and are posted as others end; past that a call is
/// refused. One operation of any size is inside when nothing else is under way. Any thread.
class window {
 public:
  explicit window(window_limits const& limits) noexcept : limits_(limits) {}

  /// Before the op is shared. False: refused, and nothing has changed.
  [[nodiscard]] bool enter(window_place& p) noexcept;
  /// The op is over; what may be posted now is told so.
  void leave(window_place& p) noexcept;
  /// "2048 operations of 1048576 bytes are under way ...", for a call that was refused.
  [[nodiscard]] std::string story() const;

 private:
  struct amount {
    std::size_t ops = 0;
    std::uint64_t bytes = 0;
    void add(std::uint64_t n) noexcept {
      ++ops;
      bytes += n;
    }
    void remove(std::uint64_t n) noexcept {
      --ops;
      bytes -= n;
    }
  };
  [[nodiscard]] bool fits_inside(std::uint64_t bytes) const noexcept {
    return inside_.ops == 0 ||
           (inside_.ops < limits_.ops && inside_.bytes + bytes <= limits_.bytes);
  }

  window_limits const limits_;
  mutable spin_lock lock_;
  amount inside_;
  amount behind_;
  hook waiting_;  // those behind
};

}  // namespace hocket::detail
