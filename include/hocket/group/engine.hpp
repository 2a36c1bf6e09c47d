// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <hocket/async/runtime.hpp>
#include <hocket/async/work.hpp>
#include <hocket/group/request.hpp>
#include <hocket/topology/rank_group.hpp>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>

namespace hocket {

class endpoint;

/// What a member says to join a group.
struct group_spec {
  std::string name;  ///< equal on all members
  /// Counts the memberships of one group.
  std::uint64_t epoch = 0;
  /// In group order, equal on all members.
  rank_group members;
  group_rank rank;                                    ///< this member's place
  clock::duration deadline = clock::duration::max();  ///< for joining, and then for operations
};

/// A group that a member has got into.
struct membership {
  membership() = default;
  group_spec spec;               ///< of the group, with the member's place
  std::shared_ptr<endpoint> at;  ///< the member's end of it
};

/// One rank's end of one group, as an engine provides it. Any thread may call.
class endpoint {
 public:
  virtual ~endpoint() = default;

  /// "cp[0,1]": name and members, for messages.
  [[nodiscard]] virtual std::string const& label() const noexcept = 0;

  /// True if this engine can do it; alike on all ranks. Reductions: `red` matters, else not.
  [[nodiscard]] virtual bool supports(op_kind kind, dtype type, reduction red) const noexcept = 0;

  /// Takes the request and one reference of its op; ends with `request::complete`, also when
  /// `local` says that this rank cannot take part: then peers are told. Never blocks or throws.
  virtual void submit(request& r) noexcept = 0;

  /// A wait on the request was ended: takes back a receive that is not matched yet.
  virtual void withdraw(request& r) noexcept = 0;

  /// Who or what the request still waits for: "rank 2 has not called it".
  [[nodiscard]] virtual std::string missing(request const& r) const = 0;

  /// For a thread that blocks in `work::get`: one bounded turn of what moves this endpoint's
  /// requests; it may complete some. False: threads of the engine do that, so sleep.
  [[nodiscard]] virtual bool drive() noexcept = 0;

  /// This rank calls no more operations on the channel; its state is dropped when all have closed
  /// it.
  virtual void close_channel(std::uint64_t channel) noexcept = 0;

  /// Ends all operations of all members, present and future, with `errc::revoked`.
  virtual void revoke(std::string const& reason) noexcept = 0;

  /// This rank will call no more operations. Peers that need it get `code`. Idempotent.
  virtual void leave(errc code, std::string const& reason) noexcept = 0;

  /// The way of this member into the group that goes on under the next epoch; the group is revoked
  /// if it was not. Members register; the membership closes, once and alike for all, when everybody
  /// has come who is not known to be gone, or when `deadline` of one that waits has passed: then it
  /// is those who have come, in the old order. A live member that comes later: `errc::excluded`.
  /// An engine that has none leaves it at this one: `errc::unsupported`.
  [[nodiscard]] virtual work<membership> rebuild(clock::duration deadline, detail::port_ptr home,
                                                 std::source_location site);

  /// What lives as long as the member has a handle of the group: pending operations alone do not
  /// keep it. Null: nothing.
  [[nodiscard]] virtual std::shared_ptr<void> keep_alive() const noexcept { return nullptr; }
};

/// How bytes move between the ranks of a world. One object per rank of the world.
class engine {
 public:
  virtual ~engine() = default;
  /// "local": for messages and for `world::engine_name`.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Done when all members have joined. `home`: where its waits are delivered.
  [[nodiscard]] virtual work<std::shared_ptr<endpoint>> join(group_spec spec, detail::port_ptr home,
                                                             std::source_location site) = 0;
};

}  // namespace hocket
