// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <hocket/group/engine.hpp>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "carrier.hpp"
#include "channel.hpp"
#include "roster.hpp"

namespace hocket::matching {

/// One group of one world: where its members' requests meet. Any thread may call.
class hub : public std::enable_shared_from_this<hub> {
 public:
  hub(std::shared_ptr<carrier> by, group_spec const& spec);
  virtual ~hub() = default;

  [[nodiscard]] std::string const& label() const noexcept { return roster_.label(); }

  void submit(request& r) noexcept;
  void withdraw(request& r) noexcept;
  [[nodiscard]] std::string missing(request const& r);
  /// Another member does not wait at that monitored barrier any more.
  void give_up(int rank, std::uint64_t channel, std::uint64_t sequence, bool late) noexcept;
  /// Ends all calls that wait.
  void end_all(errc code, std::string const& reason) noexcept;
  /// Adds a line for each call of the member that waits here.
  void pending(int rank, std::vector<std::string>& lines);
  [[nodiscard]] bool drive() noexcept { return carrier_->rt().drive(); }
  void close_channel(int rank, std::uint64_t id) noexcept;
  void revoke(int rank, std::string const& reason) noexcept;
  virtual void leave(int rank, errc code, std::string const& reason) noexcept;
  [[nodiscard]] runtime_handle const& rt() const noexcept { return carrier_->rt(); }
  /// The request's buffers may be touched from now on; or never, because of `e`.
  virtual void buffers_ready(request& r, std::exception_ptr const& e) noexcept;
  /// A collective has been carried out.
  std::unique_ptr<meeting> retire(meeting& m) noexcept;

 protected:
  /// Why a call of this process's own cannot begin, or a pending one cannot go on: the group is
  /// revoked, this rank or the receiver is gone; under the lock.
  [[nodiscard]] detail::failure reason_against(request const& r) const;
  /// Whether the announced call can be the member's next one of its number, or comes too late to
  /// be more than ended.
  [[nodiscard]] bool can_meet(request const& r);
  /// Does it under the lock unless the request has ended. False: it has.
  template <class F>
  bool unless_decided(request const& r, F&& act) {
    std::lock_guard const lock(mutex_);
    if (r.decided) return false;
    act();
    return true;
  }
  /// The member has left, for the first time; under the lock.
  virtual void member_left(int /*rank*/, departure const& /*why*/) {}

  group_spec const spec_;
  roster roster_;
  std::mutex mutex_;

 private:
  using generations = std::list<channel>;  // of one id, the oldest first

  channel& channel_for(int rank, std::uint64_t id);
  void drop_if_done(channel& c) noexcept;
  [[nodiscard]] std::string gone_story(request const& r) const;

  std::shared_ptr<carrier> const carrier_;
  std::map<std::uint64_t, generations> channels_;
  std::string revoked_;  // why
};

}  // namespace hocket::matching
