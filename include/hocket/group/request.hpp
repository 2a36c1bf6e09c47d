// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <hocket/async/detail/op_state.hpp>
#include <hocket/async/event.hpp>
#include <hocket/async/runtime.hpp>
#include <hocket/group/detail/window.hpp>
#include <hocket/group/fingerprint.hpp>
#include <hocket/group/parcel.hpp>
#include <hocket/tensor/split_plan.hpp>
#include <hocket/tensor/storage.hpp>
#include <hocket/tensor/tensor.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hocket {

namespace detail {
class channel_core;
struct object_type;
}  // namespace detail

/// What is known of a call that another process made, for messages.
struct remote_part {
  remote_part() = default;
  bool has_tensor = false;                  ///< whether dtype and shape say something
  hocket::dtype dtype = hocket::dtype::u8;  ///< of the tensor that the call names
  hocket::shape shape;                      ///< the same
  std::string site;                         ///< "server.cpp:88"
};

/// One rank's part in one operation, from the call until the engine has let go of it.
/// The group fills it, an engine carries it out; buffers stay leased until `complete`.
struct request {
  /// In place of a peer: whichever member sends first.
  static constexpr int any_peer = -1;

  // -- what the caller asked for
  /// What members compare.
  fingerprint print;
  int rank = 0;                        ///< the calling member's group rank
  int peer = any_peer;                 ///< of a send or receive
  std::uint64_t tag = 0;               ///< of a send or receive
  tensor in;                           ///< what this rank gives; undefined: nothing
  tensor out;                          ///< where the result goes
  bool takes_any_shape = false;        ///< `out` is made by the engine, like the sender's tensor
  std::optional<split_plan> plan;      ///< how the whole is cut into the members' parts
  std::optional<split_plan> received;  ///< of an exchange: how `out` is cut, where `plan` cuts `in`
  std::vector<tensor> attachments;     ///< tensors of an object, beside its bytes in `in` or `out`
  double factor = 1;                   ///< of a premultiplied sum, for this rank's elements
  detail::object_type const* type = nullptr;  ///< of an object, for messages
  std::vector<parcel> parcels;                ///< one object for, or from, each member
  event ready;                                ///< the buffers may be touched after this mark
  detail::failure local;                      ///< set: this rank cannot take part, and why

  // -- for the group
  /// The channel that it was called on.
  std::shared_ptr<detail::channel_core> of;
  /// What it takes of the channel's window until it is released.
  detail::window_place in_window;
  bool revokes_on_expiry = false;  ///< a missed deadline ends the group for all

  // -- for the engine
  /// Set: a call of another process, as it was announced here. Then `in`, or bytes and attachments,
  /// are only what it gives this process's rank.
  remote_part const* remote = nullptr;
  /// @{
  /// Its place in the order of the group's calls: equal on all members.
  std::uint64_t channel = 0;
  std::uint64_t sequence = 0;
  /// @}
  /// The handle's state, which the engine completes.
  detail::op_base* op = nullptr;
  clock::duration limit = clock::duration::max();          ///< of this op's deadline, for its story
  clock::duration arrival_limit = clock::duration::max();  ///< from the first sign of a peer
  bool limit_from_arrival = false;                         ///< `limit` counts from that sign
  bool buffers_ready = true;                               ///< `ready` has come
  bool decided = false;        ///< moving or ended: nothing can change that any more
  void* where = nullptr;       ///< what it waits in
  request* partner = nullptr;  ///< of a matched message
  std::uint64_t exposure = 0;  ///< what other processes may fetch from; 0: nothing
  /// In a list of the engine's.
  request* next = nullptr;
  /// Of `out`, until it is complete.
  write_lease writes;  // of `out`
  /// Of `in`, until it is complete.
  read_lease reads;  // of `in`
  /// Of the tensors that an object holds.
  std::vector<read_lease> attachment_reads;

  /// Whether another process made the call.
  [[nodiscard]] bool is_remote() const noexcept { return remote != nullptr; }
  /// Whether a deadline counts from the first sign of a peer.
  [[nodiscard]] bool awaits_arrival() const noexcept {
    return arrival_limit != clock::duration::max();
  }
  /// The engine has seen a peer in this operation: the deadline that counts from there begins,
  /// once.
  void first_sign(runtime_handle const& rt) noexcept;

  /// The op's end: leases go, then waits are told. The engine's reference is released, so the
  /// request may be gone when this returns.
  void complete(detail::failure f = {}) noexcept;
};

/// "rank 1 all_gather f32[2,3,4] (server.cpp:88)"
[[nodiscard]] std::string describe(request const& r);

}  // namespace hocket
