// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <hocket/async/op_options.hpp>
#include <hocket/async/work.hpp>
#include <hocket/group/batch.hpp>
#include <hocket/group/detail/group_op.hpp>
#include <hocket/group/group_options.hpp>
#include <hocket/group/member.hpp>
#include <hocket/group/object.hpp>
#include <hocket/group/rebuild_options.hpp>
#include <hocket/group/request.hpp>
#include <hocket/tensor/split_plan.hpp>
#include <hocket/tensor/tensor.hpp>
#include <hocket/topology/rank_group.hpp>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace hocket {

namespace detail {
class channel_core;
class group_core;
}  // namespace detail

/// A set of ranks that call operations together, and one of its channels.
///
/// A copyable handle. Operations start when they are called and return a `work`. Those of one
/// channel are matched among the members by the order of the calls; channels are independent of
/// each other. A default-made one is disabled ("no parallelism"): every operation is the identity,
/// at once, without any communication; point-to-point calls on it fail.
///
/// Buffers: the operation holds what it needs until it is `released()`; inputs must not be written
/// and outputs not touched until then. Arguments that are wrong complete the handle with
/// `errc::invalid_argument` and still take the operation's place in the order, so that peers get
/// `errc::peer_failed` instead of a hang. Tensors must be in host memory unless the engine says
/// otherwise. Any thread may call.
///
/// After a failure the outputs of an operation are *unspecified* once it is `released()`: as they
/// were, whole, or anything between. They carry no mark: host memory is written again through plain
/// pointers, which would not clear it. What is poisoned is the order: every wait on the handle
/// fails, every operation `after(...)` its mark fails without touching a buffer, and a stream that
/// waits for it (`wait_on`) carries the failure to its later marks.
class process_group {
 public:
  process_group() noexcept = default;
  /// Says in words what a default-made one is.
  [[nodiscard]] static process_group disabled() noexcept { return {}; }

  /// Whether every operation is the identity.
  [[nodiscard]] bool is_disabled() const noexcept { return channel_ == nullptr; }
  /// This rank's place; 0 when disabled.
  [[nodiscard]] group_rank rank() const noexcept;
  /// Number of members; 1 when disabled.
  [[nodiscard]] int size() const noexcept;
  /// The members in group order; empty when disabled.
  [[nodiscard]] rank_group const& members() const noexcept;
  /// "cp[0,1]", for messages.
  [[nodiscard]] std::string const& label() const noexcept;
  /// The place of a member; `errc::not_a_member`, naming the group, for any other rank.
  [[nodiscard]] group_rank place_of(member m) const;
  /// Where handlers without an executor of their own run. `errc::invalid_argument` when disabled.
  [[nodiscard]] boost::asio::any_io_executor get_executor() const;
  /// Deadline of operations that do not name one; changes apply to later calls.
  void set_deadline(clock::duration d) const;

  /// An own sequence space with the same members: operations on it are matched apart from all
  /// others. Equal ids (below 2^63) are the same channel. Id 0 is the group itself. Call
  /// `close_channel` when done: an open channel keeps state on every member.
  [[nodiscard]] process_group channel(std::uint64_t id) const;
  /// 0 for the group itself.
  [[nodiscard]] std::uint64_t channel_id() const noexcept;
  /// This rank calls nothing more on this channel. No effect on the group itself.
  void close_channel() const;

  /// A channel of one operation: the first call on the handle is its only one, and closes it. The
  /// n-th use of a key on each member belong together. For collectives that different members start
  /// in different orders.
  [[nodiscard]] process_group keyed(std::uint64_t key) const;

  // -- collectives on one tensor, or on equal parts
  /// Copies the root's `t` into every other member's `t`: equal dtype and shape on all members.
  work<> broadcast(tensor t, member root, op_options const& options = {},
                   std::source_location site = std::source_location::current()) const;
  /// Like it where only the root knows dtype and shape: the root gives the tensor, or nothing, and
  /// every member gets it (the root its own object). What the others pass is not used.
  work<std::optional<tensor>> broadcast(
      std::optional<tensor> t, member root, op_options const& options = {},
      std::source_location site = std::source_location::current()) const;
  /// `out` along dimension 0 is the members' `in` in group order; `in` may be its own part of
  /// `out`.
  work<> all_gather(tensor out, tensor in, op_options const& options = {},
                    std::source_location site = std::source_location::current()) const;
  /// Gathers parts of any sizes: `in` is this member's part by `plan`, `out` the whole.
  work<> all_gather_v(tensor out, tensor in, split_plan const& plan, op_options const& options = {},
                      std::source_location site = std::source_location::current()) const;
  /// Like `all_gather` with the result on the root only; `out` is used there only.
  work<> gather(tensor out, tensor in, member root, op_options const& options = {},
                std::source_location site = std::source_location::current()) const;
  /// Gathers parts of any sizes: `in` is this member's part by `plan`, `out` the whole, on the
  /// root.
  work<> gather_v(tensor out, tensor in, split_plan const& plan, member root,
                  op_options const& options = {},
                  std::source_location site = std::source_location::current()) const;
  /// Hands each member its part of the root's `in`; `in` is used on the root only.
  work<> scatter(tensor out, tensor in, member root, op_options const& options = {},
                 std::source_location site = std::source_location::current()) const;
  /// Parts of any sizes: `in` is the whole on the root, `out` this member's part by `plan`. Where
  /// the plan pads, padding in `out` is left as it is.
  work<> scatter_v(tensor out, tensor in, split_plan const& plan, member root,
                   op_options const& options = {},
                   std::source_location site = std::source_location::current()) const;
  /// Where only the root knows dtype and shape: it gives the whole, or nothing, cut by `how` along
  /// `dim` (which may count from the back); every member gets its part, padding zero.
  work<std::optional<tensor>> scatter(
      std::optional<tensor> whole, std::int64_t dim, layout how, member root,
      op_options const& options = {},
      std::source_location site = std::source_location::current()) const;
  /// Done when all members have called it.
  work<> barrier(op_options const& options = {},
                 std::source_location site = std::source_location::current()) const;
  /// A barrier that is over for all members when one's deadline passes: those that came get
  /// `errc::timed_out`, and so do later ones; the text names who had not come.
  work<> monitored_barrier(op_options const& options = {},
                           std::source_location site = std::source_location::current()) const;

  // -- reductions: `is_reducible` says which; alike on all members, bit for bit, and from run to
  // run. `how` is a `reduction`, or `premultiplied_sum(factor)` with a factor of each member's own
  /// The reduction of all members' `t` replaces it everywhere.
  work<> all_reduce(tensor t, reduce_by how = reduction::sum, op_options const& options = {},
                    std::source_location site = std::source_location::current()) const;
  /// Into `out`; the same tensor as `in`, or without elements in common.
  work<> all_reduce(tensor out, tensor in, reduce_by how = reduction::sum,
                    op_options const& options = {},
                    std::source_location site = std::source_location::current()) const;
  /// Like it with the result on the root only; `out` is used there only.
  work<> reduce(tensor out, tensor in, reduce_by how, member root, op_options const& options = {},
                std::source_location site = std::source_location::current()) const;
  /// The reduction of all members' `in`, cut along dimension 0: `out` is this member's equal part
  /// of it, and may be that part of `in`.
  work<> reduce_scatter(tensor out, tensor in, reduce_by how = reduction::sum,
                        op_options const& options = {},
                        std::source_location site = std::source_location::current()) const;
  /// Parts of any sizes. Where the plan pads, padding in `out` is left as it is.
  work<> reduce_scatter_v(tensor out, tensor in, split_plan const& plan,
                          reduce_by how = reduction::sum, op_options const& options = {},
                          std::source_location site = std::source_location::current()) const;

  // -- exchanges
  /// Dimension 0 of `in` holds an equal part for each member, that of `out` one from each, in group
  /// order. They may be the same tensor.
  work<> all_to_all(tensor out, tensor in, op_options const& options = {},
                    std::source_location site = std::source_location::current()) const;
  /// Parts of any sizes, also none: `sent` cuts `in`, `received` cuts `out`, along one dimension.
  /// What a member sends must be what the other expects, else `errc::mismatch` on all.
  work<> all_to_all_v(tensor out, split_plan const& received, tensor in, split_plan const& sent,
                      op_options const& options = {},
                      std::source_location site = std::source_location::current()) const;

  // -- point to point: matched by (sender, tag) in the order of the calls
  /// Done when matched with a receive and copied, at every size. Not `[[nodiscard]]`: the
  /// operation owns the tensor, a dropped handle only means that nobody looks.
  work<> send(tensor t, member to, op_options const& options = {},
              std::source_location site = std::source_location::current()) const;
  /// Into `out`, which must have the message's dtype and number of elements. Until a message has
  /// met it, a canceller, a stop token or a deadline withdraws it. An Asio slot ends one wait only,
  /// and dropping the handle nothing: it still takes its message, so a receive that races a timer
  /// (`||`) is given a deadline instead, or its handle is kept and awaited again.
  [[nodiscard]] work<> recv(tensor out, source from, op_options const& options = {},
                            std::source_location site = std::source_location::current()) const;
  /// Dtype and shape travel with the message.
  [[nodiscard]] work<tensor> recv(
      source from, op_options const& options = {},
      std::source_location site = std::source_location::current()) const;

  /// Starts all of them; done when all are, also where some fail. The result is what was received,
  /// in the order of the receives in the batch.
  work<std::vector<tensor>> run(batch b,
                                std::source_location site = std::source_location::current()) const;

  // -- objects; for values of a program, not for high-volume activations: they are encoded.
  // Where the members' types could not be read from each other's bytes, all of them get
  // `errc::mismatch`, of a message both sides, and the channel goes on. What only the bytes show
  // (a struct that takes older versions, a number that does not fit, a limit of the reader's own,
  // damage) is the error of the waits that read them: the giver has done its part
  /// The root's value on every member; what the others pass is not used. An empty root is
  /// `errc::invalid_argument` there and `errc::peer_failed` elsewhere.
  template <class T>
  [[nodiscard]] work<T> broadcast_object(
      std::optional<T> value, member root, op_options const& options = {},
      std::source_location site = std::source_location::current()) const;

  /// Everybody's value, in group order, on the root; nothing elsewhere.
  template <class T>
  [[nodiscard]] work<std::vector<T>> gather_objects(
      T value, member root, op_options const& options = {},
      std::source_location site = std::source_location::current()) const;
  /// One of the root's values for each member; what the others pass is not used.
  template <class T>
  [[nodiscard]] work<T> scatter_objects(
      std::vector<T> values, member root, op_options const& options = {},
      std::source_location site = std::source_location::current()) const;
  /// Matched like `send`, with `recv_object` only.
  template <class T>
  work<> send_object(T const& value, member to, op_options const& options = {},
                     std::source_location site = std::source_location::current()) const;
  /// Matched with `send_object` only. `errc::corrupt` for an object of another type.
  template <class T>
  [[nodiscard]] work<T> recv_object(
      source from, op_options const& options = {},
      std::source_location site = std::source_location::current()) const;

  /// Ends all operations of all members, present and future, with `errc::revoked`.
  void revoke(std::string const& reason) const;
  /// The group of the members that go on after some are lost: same name, same options, next epoch,
  /// the old order. Revokes this group if nobody has: its handles stay revoked, and nothing that
  /// was sent in it arrives. Done when all members have called it that are not known to be gone, or
  /// at the deadline of the first that waits, alike for all who came; one that comes later gets
  /// `errc::excluded`. Once for a group, on any channel of it. Disabled: disabled.
  [[nodiscard]] work<process_group> rebuild(
      rebuild_options const& options = rebuild_options(),
      std::source_location site = std::source_location::current()) const;
  /// This rank leaves the group: peers that need it get `errc::group_closed`. Local and bounded;
  /// dropping the last handle does the same.
  work<> close() const;

  /// The same group and the same channel of it; disabled ones are equal.
  friend bool operator==(process_group const& a, process_group const& b) noexcept {
    return a.channel_ == b.channel_;
  }

  // -- for layers above and for engines' tests
  /// @cond
  process_group(std::shared_ptr<detail::group_core> group,
                std::shared_ptr<detail::channel_core> channel) noexcept
      : group_(std::move(group)), channel_(std::move(channel)) {}
  [[nodiscard]] detail::group_core* core() const noexcept { return group_.get(); }
  [[nodiscard]] detail::channel_core& channel_state() const noexcept { return *channel_; }
  /// @endcond

 private:
  std::shared_ptr<detail::group_core> group_;
  std::shared_ptr<detail::channel_core> channel_;
};

}  // namespace hocket

#include <hocket/group/detail/object_op.hpp>
