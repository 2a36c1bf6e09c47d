// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/group/engine.hpp>
#include <memory>
#include <string>

#include "engine/matching/hub.hpp"
#include "fabric.hpp"
#include "succession.hpp"

namespace hocket::local {

/// One group whose members all live in this process. Any thread may call.
class local_hub final : public matching::hub {
 public:
  local_hub(std::shared_ptr<fabric> f, group_spec const& spec)
      : hub(f, spec), fabric_(std::move(f)), succession_(roster_, spec_) {}

  void leave(int rank, errc code, std::string const& reason) noexcept override;
  /// One member's way into the group that goes on; revokes this one.
  [[nodiscard]] work<membership> rebuild(int rank, clock::duration deadline, detail::port_ptr home,
                                         std::source_location site);
  /// The member waits no longer for that group.
  void give_up(heir& h) noexcept;

 private:
  void member_left(int rank, matching::departure const& why) override {
    succession_.member_left(rank, why, heirs_told_);
  }
  void close_membership();
  [[nodiscard]] std::shared_ptr<local_hub> self() {
    return std::static_pointer_cast<local_hub>(shared_from_this());
  }

  std::shared_ptr<fabric> const fabric_;
  succession succession_;
  succession::outcome heirs_told_;  // by a departure, once the lock is released
};

}  // namespace hocket::local
