// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <atomic>
#include <hocket/group/engine.hpp>
#include <memory>
#include <string>

#include "local_hub.hpp"
#include "presence.hpp"

namespace hocket::local {

/// One rank's end of a hub.
class local_endpoint final : public endpoint {
 public:
  local_endpoint(std::shared_ptr<local_hub> h, int rank, std::shared_ptr<presence> who)
      : hub_(std::move(h)), rank_(rank), presence_(std::move(who)) {
    presence_->joined(hub_, rank_);
  }
  ~local_endpoint() override { leave(errc::group_closed, "its endpoint was dropped"); }

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
    if (!left_.exchange(true)) presence_->leave(hub_, rank_, code, reason);
  }
  work<membership> rebuild(clock::duration deadline, detail::port_ptr home,
                           std::source_location site) override {
    return hub_->rebuild(rank_, deadline, std::move(home), site);
  }

 private:
  std::shared_ptr<local_hub> const hub_;
  int const rank_;
  std::shared_ptr<presence> const presence_;
  std::atomic<bool> left_{false};
};

}  // namespace hocket::local
