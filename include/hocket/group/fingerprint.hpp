// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <hocket/tensor/dtype.hpp>
#include <hocket/tensor/reduction.hpp>
#include <hocket/tensor/shape.hpp>

namespace hocket {

/// What a member calls. Members must agree on it at each place of a channel's order.
enum class op_kind : std::uint8_t {
  barrier,
  broadcast,
  all_gather,
  gather,
  scatter,
  reduce,
  all_reduce,
  reduce_scatter,
  all_to_all,
  broadcast_object,
  gather_objects,
  scatter_objects,
  send,
  recv,
  send_object,
  recv_object,
  monitored_barrier,
};

/// Whether it hands a message to one peer.
[[nodiscard]] constexpr bool is_send(op_kind k) noexcept {
  return k == op_kind::send || k == op_kind::send_object;
}
/// Whether it takes a message from one peer, or from any.
[[nodiscard]] constexpr bool is_recv(op_kind k) noexcept {
  return k == op_kind::recv || k == op_kind::recv_object;
}
/// Whether it computes with the elements, so that dtype and reduction must go together.
[[nodiscard]] constexpr bool is_reducing(op_kind k) noexcept {
  return k == op_kind::reduce || k == op_kind::all_reduce || k == op_kind::reduce_scatter;
}

/// As messages spell it: "all_gather".
[[nodiscard]] char const* name_of(op_kind k) noexcept;

/// What every member of a group must agree on for one operation. Fields that do not apply to a
/// rank (an absent tensor, a receive of unknown shape) are left out by `has_shape`.
struct fingerprint {
  /// Always compared.
  op_kind kind = op_kind::barrier;
  /// Whether dtype and shape are known here and take part in the comparison.
  bool has_shape = false;
  /// @{
  /// Compared where the operation has one.
  hocket::dtype dtype = hocket::dtype::u8;
  hocket::reduction reduction = hocket::reduction::sum;
  /// @}
  std::int32_t root = -1;        ///< group rank; -1: none
  std::int64_t count = 0;        ///< elements of the whole: all parts together
  std::uint64_t shape_hash = 0;  ///< of the whole's shape
  std::uint64_t plan_hash = 0;   ///< 0: no plan
  std::uint64_t type_hash = 0;   ///< of an object; 0: only its bytes can tell
};

/// The same on every machine.
[[nodiscard]] std::uint64_t hash_of(shape const& s) noexcept;

/// How two ranks' calls differ.
enum class difference : std::uint8_t {
  none,
  kind,  ///< other operations: the ranks' programs are out of step
  root,
  dtype,
  shape,
  reduction,
  plan,
  type,  ///< of objects
};

/// The first difference in the fields that matter for the kind of operation.
[[nodiscard]] difference compare(fingerprint const& a, fingerprint const& b) noexcept;

/// "the shapes differ", for the story of a mismatch.
[[nodiscard]] char const* describe(difference d) noexcept;

}  // namespace hocket
