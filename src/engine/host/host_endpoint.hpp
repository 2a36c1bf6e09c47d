// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <atomic>
#include <hocket/group/engine.hpp>
#include <hocket/tensor/reduction.hpp>
#include <memory>
#include <string>

#include "host_hub.hpp"

namespace hocket::host {

/// This rank's end of a group of processes.
class host_endpoint final : public endpoint {
 public:
  /// `engine` lives as long as this does.
  host_endpoint(std::shared_ptr<host_hub> h, std::shared_ptr<void> engine)
      : engine_(std::move(engine)), hub_(std::move(h)) {}
  ~host_endpoint() override { leave(errc::group_closed, "its endpoint was dropped"); }

  std::string const& label() const noexcept override { return hub_->label(); }
  bool supports(op_kind kind, dtype type, reduction red) const noexcept override {
    return !is_reducing(kind) || is_reducible(type, red);
  }
  void submit(request& r) noexcept override { hub_->call(r); }
  void withdraw(request& r) noexcept override { hub_->withdraw(r); }
  std::string missing(request const& r) const override { return hub_->missing(r); }
  bool drive() noexcept override { return hub_->drive(); }
  void close_channel(std::uint64_t channel) noexcept override { hub_->close_own_channel(channel); }
  void revoke(std::string const& reason) noexcept override { hub_->revoke_all(reason); }
  void leave(errc code, std::string const& reason) noexcept override {
    if (!left_.exchange(true)) hub_->leave_own(code, reason);
  }

 private:
  std::shared_ptr<void> const engine_;
  std::shared_ptr<host_hub> const hub_;
  std::atomic<bool> left_{false};
};

}  // namespace hocket::host
