// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/group/engine.hpp>
#include <memory>
#include <string>

#include "hub.hpp"

namespace hocket::local {

/// One rank's end of a hub.
class local_endpoint final : public endpoint {
 public:
  local_endpoint(std::shared_ptr<hub> h, int rank) : hub_(std::move(h)), rank_(rank) {}
  ~local_endpoint() override { hub_->leave(rank_, errc::group_closed, "its endpoint was dropped"); }

  std::string const& label() const noexcept override { return hub_->label(); }
  bool supports(op_kind kind, dtype type, reduction red) const noexcept override;
  void submit(request& r) noexcept override { hub_->submit(r); }
  void withdraw(request& r) noexcept override { hub_->withdraw(r); }
  std::string missing(request const& r) const override { return hub_->missing(r); }
  bool drive() noexcept override { return hub_->drive(); }
  void close_channel(std::uint64_t channel) noexcept override {
    hub_->close_channel(rank_, channel);
  }
  void revoke(std::string const& reason) noexcept override { hub_->revoke(rank_, reason); }
  void leave(errc code, std::string const& reason) noexcept override {
    hub_->leave(rank_, code, reason);
  }

 private:
  std::shared_ptr<hub> const hub_;
  int const rank_;
};

}  // namespace hocket::local
