// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <hocket/async/detail/op_state.hpp>
#include <hocket/group/engine.hpp>
#include <memory>
#include <string>
#include <vector>

#include "alarm.hpp"
#include "engine/matching/roster.hpp"
#include "fabric.hpp"

namespace hocket::local {

class local_hub;

/// One member of a revoked group on its way into the group that goes on.
class heir final : public detail::value_state<membership> {
 public:
  heir(detail::port_ptr home, std::shared_ptr<local_hub> from, int place)
      : value_state(std::move(home)), rank(place), from_(std::move(from)) {}

  int const rank;   // in the old group
  alarm_ptr limit;  // closes the membership

 protected:
  void waits_ended() noexcept override;

 private:
  std::shared_ptr<local_hub> const from_;
};

using heir_ptr = boost::intrusive_ptr<heir>;

/// Who goes on after a group was revoked: members register until all have come that are not gone,
/// or until the membership is closed. All calls under the hub's lock.
class succession {
 public:
  succession(roster const& old, group_spec const& spec) : old_(old), spec_(spec) {}

  /// Who is told what, once the lock is released.
  class outcome {
   public:
    void refuse(heir_ptr h, errc code, std::string const& why);
    void admit(group_spec s, std::vector<heir_ptr> all);
    void tell(std::shared_ptr<fabric> const& f);

   private:
    std::vector<std::pair<heir_ptr, detail::failure>> refused_;
    std::vector<heir_ptr> admitted_;  // by new place
    group_spec spec_;
  };

  void enter(heir_ptr const& h, outcome& o);
  /// A waiting member's wait was ended.
  void withdraw(heir& h, outcome& o);
  /// A member has left the old group, or is lost.
  void member_left(int rank, departure const& why, outcome& o);
  /// Nobody is waited for any longer. No effect while nobody has come, nor a second time.
  void close(outcome& o);

 private:
  heir_ptr& at(int rank) { return waiting_[static_cast<std::size_t>(rank)]; }
  void close_if_complete(outcome& o);
  void refuse_late(heir_ptr const& h, outcome& o) const;

  roster const& old_;
  group_spec const& spec_;         // of the old group
  std::vector<heir_ptr> waiting_;  // by old place; empty until somebody comes
  bool closed_ = false;
  rank_group members_;  // once closed
};

}  // namespace hocket::local
