// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <cstdint>
#include <hocket/parallel/mesh_layout.hpp>
#include <hocket/parallel/placement.hpp>
#include <hocket/tensor/reduction.hpp>
#include <hocket/tensor/shape.hpp>
#include <optional>
#include <utility>
#include <vector>

namespace hocket::detail {

/// Where a tensor lies.
class tensor_side {
 public:
  tensor_side(mesh_layout m, placements w) : mesh(std::move(m)), where(std::move(w)) {}
  mesh_layout mesh;
  placements where;
};

/// A block that one rank hands to another, or to itself.
class block_transfer {
 public:
  block_transfer(world_rank p, tensor_box b) : peer(p), box(b) {}
  world_rank peer;
  tensor_box box;  ///< in the whole tensor
};

/// A block that this rank reduces: its contributions, in the order in which they are combined.
class block_reduction {
 public:
  tensor_box box;
  std::vector<world_rank> contributors;
};

/// Which rank hands which block to which, so that a tensor moves from one placement to another with
/// the fewest bytes. Arithmetic only; every rank computes its own part, and both ends of a pair
/// list their transfers in one order.
///
/// Ranks of equal source coordinates along the sharded dimensions hold the same block: a *class*;
/// classes cut the tensor without overlap. What a rank wants and does not hold it gets once. Of
/// partial sources every block is reduced at one place, at a rank that contributes and wants it if
/// there is one, and goes from there to the others that want it; several such ranks share the
/// block. Dimensions that are partial before and after, by the same reduction, keep their
/// contributions apart: each of these *layers* moves by itself.
class redistribution {
 public:
  /// Throws `errc::invalid_argument` for placements that do not go together.
  redistribution(shape full, tensor_side from, tensor_side to);

  /// Whether contributions have to be reduced on the way.
  [[nodiscard]] bool reduces() const noexcept { return contributions_ > 1; }
  [[nodiscard]] reduction how() const noexcept { return how_; }

  /// @{
  /// The block a rank has before, or after; none outside the mesh.
  [[nodiscard]] std::optional<tensor_box> held_by(world_rank r) const;
  [[nodiscard]] std::optional<tensor_box> due_at(world_rank r) const;
  /// @}
  /// Whether the rank's block after is the value itself; else it is the reduction's identity.
  [[nodiscard]] bool wants(world_rank r) const;

  /// @{
  /// Without a reduction: all there is, the blocks that stay included. With one: the parts that are
  /// reduced here, and the contributions that this rank sends away.
  [[nodiscard]] std::vector<block_transfer> receives(world_rank me) const;
  [[nodiscard]] std::vector<block_transfer> sends(world_rank me) const;
  [[nodiscard]] std::vector<block_reduction> reductions(world_rank me) const;
  /// @}
  /// @{
  /// With a reduction: what follows it. Sends are of parts reduced here.
  [[nodiscard]] std::vector<block_transfer> receives_after(world_rank me) const;
  [[nodiscard]] std::vector<block_transfer> sends_after(world_rank me) const;
  /// @}

  /// Elements that have to travel between ranks, in all: no way moves fewer.
  [[nodiscard]] std::int64_t elements_min() const;

 private:
  using coordinate = mesh_coordinate;
  class piece {
   public:
    coordinate source_class;
    tensor_box box;
    std::vector<coordinate> owners;  // target coordinates
    bool owner_contributes = false;
  };

  [[nodiscard]] tensor_box source_box(coordinate const& c) const;
  [[nodiscard]] tensor_box target_box(coordinate const& c) const;
  [[nodiscard]] bool is_layer(std::size_t dim) const noexcept { return layers_[dim]; }
  [[nodiscard]] bool same_layers(coordinate const& a, coordinate const& b) const noexcept;
  [[nodiscard]] bool wants(coordinate const& target) const;
  [[nodiscard]] coordinate class_of_source(coordinate c) const;
  [[nodiscard]] coordinate class_of_target(coordinate c) const;
  [[nodiscard]] std::vector<coordinate> wanters(coordinate const& target_class) const;
  [[nodiscard]] std::vector<piece> pieces(coordinate const& target_class) const;
  [[nodiscard]] piece piece_of(coordinate const& source_class, coordinate const& target_class,
                               std::vector<coordinate> const& wanting) const;
  [[nodiscard]] tensor_box part_of(piece const& p, std::size_t owner) const;
  [[nodiscard]] std::vector<world_rank> givers(coordinate const& source_class,
                                               coordinate const& owner) const;
  [[nodiscard]] std::vector<coordinate> target_classes() const;
  [[nodiscard]] std::vector<coordinate> source_classes(coordinate const& target_class) const;

  shape full_;
  tensor_side from_;
  tensor_side to_;
  std::array<bool, mesh_layout::ndim_max> layers_{};
  int contributions_ = 1;
  reduction how_ = reduction::sum;
};

}  // namespace hocket::detail
