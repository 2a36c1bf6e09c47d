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
  /// Of a group of that engine.
  host_endpoint(std::shared_ptr<host_hub> h, std::weak_ptr<void> engine)
      : engine_(std::move(engine)), hub_(std::move(h)) {}
  ~host_endpoint() override { leave(errc::group_closed, "its endpoint was dropped"); }

  std::string const& label() const noexcept override { return hub_->label(); }
  bool supports(op_kind kind, dtype type, reduction red) const noexcept override {
    return !is_reducing(kind) || is_reducible(type, red);
  }
  void submit(request& r) noexcept override { hub_->call(r); }
  void withdraw(request& r) noexcept override {
    if (!is_foreign()) hub_->withdraw_own(r);
  }
  std::string missing(request const& r) const override {
    if (is_foreign()) return "the process was forked";
    hub_->net().report(log_level::debug);
    auto const moving = hub_->exchanges().waits_of(r);
    return hub_->missing(r) + (moving.empty() ? "" : "; it waits for " + moving);
  }
  bool drive() noexcept override { return hub_->drive(); }
  void close_channel(std::uint64_t channel) noexcept override {
    if (!is_foreign()) hub_->close_own_channel(channel);
  }
  void revoke(std::string const& reason) noexcept override {
    if (!is_foreign()) hub_->revoke_all(reason);
  }
  void leave(errc code, std::string const& reason) noexcept override {
    if (!left_.exchange(true) && !is_foreign()) hub_->leave_own(code, reason);
  }
  work<membership> rebuild(clock::duration deadline, detail::port_ptr home,
                           std::source_location site) override {
    return hub_->rebuild(deadline, std::move(home), site);
  }
  std::shared_ptr<void> keep_alive() const noexcept override { return engine_.lock(); }

 private:
  // In a forked child: the locks may be held by threads that it does not have.
  [[nodiscard]] bool is_foreign() const noexcept { return hub_->net().is_in_child(); }

  std::weak_ptr<void> const engine_;
  std::shared_ptr<host_hub> const hub_;
  std::atomic<bool> left_{false};
};

}  // namespace hocket::host
