// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <hocket/async/detail/op_state.hpp>
#include <hocket/group/request.hpp>
#include <string>
#include <vector>

namespace hocket::host {

/// A tensor that a call gives to this rank, in one piece.
struct given {
  hocket::dtype dtype = hocket::dtype::u8;
  hocket::shape shape;
  std::uint64_t address = 0;  ///< in the giver's memory
  [[nodiscard]] std::size_t bytes() const;
};

/// A call that another process has announced, as this process's matching sees it. It lives until
/// its request is completed.
class remote_call final : public detail::op_state<void> {
 public:
  explicit remote_call(std::string group) : op_state(nullptr), group_(std::move(group)) {}
  [[nodiscard]] std::monostate take() override { return {}; }
  [[nodiscard]] static remote_call& of(request& r) noexcept {
    return static_cast<remote_call&>(*r.op);
  }
  /// Its name for messages, once `asked.print.kind` is set.
  void name();

  request asked;
  remote_part part;
  std::vector<given> gives;  ///< bytes of an object first, then its tensors; empty: nothing
  /// Of an exchange: the sizes of the parts for each member, and of those expected from each.
  std::vector<std::int64_t> sends, expects;
  bool is_here = false;        ///< they came with the call: `asked` holds them
  std::uint64_t exposure = 0;  ///< the giver's handle of them
  std::uint32_t seal = 0;      ///< the giver's when it announced them
  std::uint64_t message = 0;   ///< the sender's handle of a message
  int world_rank = -1;         ///< the giver's

 protected:
  void drop_value() noexcept override {}

 private:
  std::string const group_;
};

}  // namespace hocket::host
