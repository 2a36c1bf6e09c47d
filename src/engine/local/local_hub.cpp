// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "local_hub.hpp"

#include <hocket/error.hpp>
#include <utility>

namespace hocket::local {

void local_hub::leave(int rank, errc code, std::string const& reason) noexcept {
  hub::leave(rank, code, reason);
  succession::outcome o;
  {
    std::lock_guard const lock(mutex_);
    o = std::exchange(heirs_told_, {});
  }
  o.tell(fabric_);
}

work<membership> local_hub::rebuild(int rank, clock::duration deadline, detail::port_ptr home,
                                    std::source_location site) {
  revoke(rank, "it rebuilds the group");
  heir_ptr const op(new heir(std::move(home), self(), rank), false);
  op->mutable_info().operation = "rebuild";
  op->mutable_info().group = label().c_str();
  op->mutable_info().site = site;
  work<membership> result{detail::op_ptr<membership>(op)};
  if (deadline > clock::duration::zero() && deadline != clock::duration::max())
    op->limit.reset(new alarm([weak = std::weak_ptr(self())] {
                      if (auto const me = weak.lock()) me->close_membership();
                    }),
                    false);
  succession::outcome o;
  {
    std::lock_guard const lock(mutex_);
    if (op->limit) rt().arm(*op->limit, deadline);  // under the lock: it may be dropped right after
    if (auto const& why = roster_.departure_of(rank)) {
      o.refuse(op, errc::group_closed, "this rank has left the group: " + why->reason);
    } else {
      succession_.enter(op, o);
    }
  }
  o.tell(fabric_);
  if (deadline <= clock::duration::zero()) close_membership();
  return result;
}

void local_hub::give_up(heir& h) noexcept {
  succession::outcome o;
  {
    std::lock_guard const lock(mutex_);
    succession_.withdraw(h, o);
  }
  o.tell(fabric_);
}

void local_hub::close_membership() {
  succession::outcome o;
  {
    std::lock_guard const lock(mutex_);
    succession_.close(o);
  }
  o.tell(fabric_);
}

}  // namespace hocket::local
