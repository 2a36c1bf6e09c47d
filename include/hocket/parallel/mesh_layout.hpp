// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <hocket/tensor/shape.hpp>
#include <hocket/topology/rank.hpp>
#include <hocket/topology/rank_group.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket {

/// Where a rank stands along each dimension of a mesh; zero beyond the mesh's last dimension.
using mesh_coordinate = std::array<int, 5>;

/// Names of a mesh's dimensions: `mesh_names("replicate", "shard")`. None: "dim0", "dim1", ...
class mesh_names {
 public:
  mesh_names() = default;
  /// In the order of the dimensions.
  template <std::convertible_to<std::string>... Name>
  requires(sizeof...(Name) >= 1) mesh_names(Name... each) {  // NOLINT: implicit, so that braces do
    list_.reserve(sizeof...(Name));
    (list_.emplace_back(std::move(each)), ...);
  }
  /// Likewise from a list.
  explicit mesh_names(std::vector<std::string> list) noexcept : list_(std::move(list)) {}
  /// As a list.
  [[nodiscard]] std::vector<std::string> const& list() const noexcept { return list_; }

 private:
  std::vector<std::string> list_;
};

/// Which ranks stand where in a mesh: arithmetic only, no groups. A value.
///
/// It also describes a mesh that this rank is not in, or one whose groups are gone, so that tensors
/// can be moved away from it.
class mesh_layout {
 public:
  /// The most dimensions.
  static constexpr std::size_t ndim_max = std::tuple_size_v<mesh_coordinate>;

  /// No ranks.
  mesh_layout() = default;
  /// `ranks` row by row, the last dimension fastest. `errc::invalid_argument` with the numbers
  /// unless the product of `sizes` (each at least 1, at most 5 of them) is the number of ranks, and
  /// for names that are repeated, empty, or not one for each dimension. Default names: "dim0", ...
  mesh_layout(rank_group ranks, shape const& sizes, mesh_names const& names = mesh_names());
  /// Likewise where a step along dimension i is `strides[i]` places in `ranks`.
  mesh_layout(rank_group ranks, shape const& sizes, shape const& strides, mesh_names const& names);

  /// Number of dimensions.
  [[nodiscard]] std::size_t ndim() const noexcept { return names_.size(); }
  /// Number of ranks.
  [[nodiscard]] int size() const noexcept { return ranks_.size(); }
  /// Ranks along one dimension.
  [[nodiscard]] int size(std::size_t dim) const;
  /// The dimension of that name; `errc::invalid_argument` lists those there are.
  [[nodiscard]] std::size_t dim_index(std::string_view name) const;
  /// Of one dimension.
  [[nodiscard]] std::string const& name(std::size_t dim) const { return names_.at(dim); }

  /// All ranks.
  [[nodiscard]] rank_group const& ranks() const noexcept { return ranks_; }
  /// Nothing for a rank that is not in the mesh.
  [[nodiscard]] std::optional<mesh_coordinate> coordinate_of(world_rank rank) const noexcept;
  /// The coordinate must be inside the mesh.
  [[nodiscard]] world_rank at(mesh_coordinate const& where) const noexcept;
  /// The ranks that differ from the one at `where` along one dimension only, in its order.
  [[nodiscard]] rank_group along(std::size_t dim, mesh_coordinate const& where) const;

  /// Equal on every host for equal layouts.
  [[nodiscard]] std::uint64_t hash() const noexcept;
  /// The same ranks at the same places; names do not count.
  friend bool operator==(mesh_layout const& a, mesh_layout const& b) noexcept;

 private:
  rank_group ranks_;
  mesh_coordinate sizes_{};
  mesh_coordinate strides_{};
  std::vector<std::string> names_;
};

/// "replicate 2 x shard 2 over [0,1,2,3]".
[[nodiscard]] std::string to_string(mesh_layout const& mesh);

}  // namespace hocket
