// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <hocket/async/op_options.hpp>
#include <hocket/async/work.hpp>
#include <hocket/parallel/device_mesh.hpp>
#include <hocket/parallel/placement.hpp>
#include <hocket/tensor/tensor.hpp>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>

namespace hocket {

/// A tensor whose elements lie on the ranks of a mesh: PyTorch's DTensor.
///
/// A value that shares its local tensor and its description; copies are cheap. The shape is always
/// the whole's and is never guessed from the shards: uneven shards would give a wrong one.
class dtensor {
 public:
  /// Undefined.
  dtensor() = default;
  /// This rank's shard, and what the whole is: local, nothing is compared with other ranks. Checks
  /// that the local tensor has the extents that follow (`errc::invalid_argument` with both), that
  /// all partial placements have one reduction, and that it is defined for the dtype.
  dtensor(tensor local, device_mesh mesh, placements where, shape const& global);
  /// A tensor of which this rank has nothing, because it is not in `mesh`: to take part in moving
  /// it. On a rank of the mesh `errc::invalid_argument`.
  [[nodiscard]] static dtensor elsewhere(dtype type, device_mesh mesh, placements where,
                                         shape const& global);

  /// False for a default-made one; every other question about it is `errc::invalid_argument`.
  [[nodiscard]] bool defined() const noexcept { return spec_ != nullptr; }
  /// Whether this rank has a shard, which may be empty.
  [[nodiscard]] bool has_local() const noexcept { return local_.defined(); }
  /// This rank's shard itself, not a copy; `errc::not_a_member` where there is none.
  [[nodiscard]] tensor const& to_local() const;
  /// Of the whole.
  [[nodiscard]] hocket::shape const& shape() const { return spec().global; }
  /// Of every shard.
  [[nodiscard]] hocket::dtype dtype() const { return spec().type; }
  /// Whose ranks hold it.
  [[nodiscard]] device_mesh const& mesh() const { return spec().mesh; }
  /// How, along each dimension of the mesh.
  [[nodiscard]] hocket::placements const& where() const { return spec().where; }

 private:
  class description {
   public:
    hocket::dtype type = dtype::u8;
    hocket::shape global;
    device_mesh mesh;
    hocket::placements where;
  };
  [[nodiscard]] description const& spec() const;
  static std::shared_ptr<description const> describe(hocket::dtype type, device_mesh mesh,
                                                     hocket::placements where,
                                                     hocket::shape const& global);

  tensor local_;
  std::shared_ptr<description const> spec_;
};

/// "f32[7,5] (shard(0)) on dim0 4 over [0,1,2,3]".
[[nodiscard]] std::string brief(dtensor const& x);

/// This rank's part of a tensor that every rank has: a contiguous copy, no communication. Where it
/// becomes partial, the first rank along that dimension gets the value and the others the
/// reduction's identity (of an average, all get the value).
[[nodiscard]] dtensor distribute_tensor(tensor const& full, device_mesh mesh, placements where);

/// The same tensor placed otherwise on its mesh. All ranks of the mesh call it, in one order with
/// other calls on the mesh; ranks that differ in dtype, shape or placements all get
/// `errc::mismatch` naming both, and one that cannot take part gives the others
/// `errc::peer_failed`.
///
/// As few bytes travel as can (`redistribute_bytes`), each straight to where it ends; sums are made
/// once, in the order of the ranks, so all replicas are equal bit for bit. The source must not be
/// written until the handle is done. Where nothing changes the result shares the local tensor;
/// otherwise it has storage of its own. Options count for each step; a tag is not used.
[[nodiscard]] work<dtensor> redistribute(
    dtensor x, placements where, op_options const& options = {},
    std::source_location site = std::source_location::current());
/// Onto another mesh, of any number of ranks: the way to a new topology. All members of `over`
/// call, which holds the ranks of both meshes; a rank outside the old mesh gives
/// `dtensor::elsewhere`, one outside the new mesh gives its layout and gets a tensor without a
/// shard. The old mesh's groups are not used and may be closed.
[[nodiscard]] work<dtensor> redistribute(
    dtensor x, device_mesh to, placements where, process_group const& over,
    op_options const& options = {}, std::source_location site = std::source_location::current());
/// The whole on every rank of the mesh, partial contributions reduced. All ranks of the mesh call.
[[nodiscard]] work<tensor> full_tensor(dtensor x, op_options const& options = {},
                                       std::source_location site = std::source_location::current());

/// The fewest bytes that have to travel between ranks, in all, to place a tensor otherwise: each
/// rank needs what it wants and does not hold; of partial sources each element needs a message for
/// each contribution but one, then one for each further rank that wants it (two each for an all
/// reduce). `redistribute` moves exactly as many.
[[nodiscard]] std::uint64_t redistribute_bytes(dtype type, shape const& full,
                                               mesh_layout const& from_mesh, placements const& from,
                                               mesh_layout const& to_mesh, placements const& to);

/// A parameter or buffer of a model, which may be sharded or not: a tensor or a dtensor.
class state_tensor {
 public:
  /// @{
  /// Shares what it is made from.
  state_tensor(tensor t) : local_(std::move(t)) {}                           // NOLINT: either kind
  state_tensor(dtensor t) : local_(t.to_local()), sharded_(std::move(t)) {}  // NOLINT: either kind
  /// @}
  /// This rank's own: itself, or its shard.
  [[nodiscard]] tensor const& local() const noexcept { return local_; }
  /// Whether it is a dtensor, and which.
  [[nodiscard]] std::optional<dtensor> const& sharded() const noexcept { return sharded_; }
  /// Of the whole.
  [[nodiscard]] hocket::shape const& shape() const {
    return sharded_ ? sharded_->shape() : local_.shape();
  }

 private:
  tensor local_;
  std::optional<dtensor> sharded_;
};

/// "f32[7,5]", or as `brief` of a dtensor.
[[nodiscard]] std::string brief(state_tensor const& x);

/// @{
/// The rank's own tensor of either kind.
[[nodiscard]] inline tensor get_local_tensor_if_dtensor(tensor t) { return t; }
[[nodiscard]] inline tensor get_local_tensor_if_dtensor(dtensor const& t) { return t.to_local(); }
[[nodiscard]] inline tensor get_local_tensor_if_dtensor(state_tensor const& t) { return t.local(); }
/// @}

}  // namespace hocket
