// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <hocket/parallel/mesh_layout.hpp>
#include <hocket/tensor/reduction.hpp>
#include <hocket/tensor/shape.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hocket {

/// How a tensor lies along one dimension of a mesh.
class placement {
 public:
  /// What the ranks along the dimension have.
  enum class kind : std::uint8_t {
    replicate,  ///< the same
    shard,      ///< a part each
    partial,    ///< a contribution each: the value is their reduction
  };

  /// Replicated.
  placement() = default;

  /// @{
  /// What it was made as.
  [[nodiscard]] kind how() const noexcept { return how_; }
  [[nodiscard]] bool is_replicate() const noexcept { return how_ == kind::replicate; }
  [[nodiscard]] bool is_shard() const noexcept { return how_ == kind::shard; }
  [[nodiscard]] bool is_partial() const noexcept { return how_ == kind::partial; }
  /// @}
  /// Of a shard: the tensor's dimension that is cut, as it was given.
  [[nodiscard]] int dim() const noexcept { return dim_; }
  /// Of a partial: how contributions become the value.
  [[nodiscard]] hocket::reduction reduction() const noexcept { return reduction_; }
  /// Of a shard: the size of each part; empty: balanced, the first L % n parts one longer.
  [[nodiscard]] std::vector<std::int64_t> const& sizes() const noexcept { return sizes_; }

  /// The same in every respect; a dimension counted from the back differs from one from the front.
  friend bool operator==(placement const&, placement const&) = default;

 private:
  friend placement shard(int);
  friend placement shard(int, std::span<std::int64_t const>);
  friend placement partial(hocket::reduction);

  kind how_ = kind::replicate;
  int dim_ = 0;
  hocket::reduction reduction_ = hocket::reduction::sum;
  std::vector<std::int64_t> sizes_;
};

/// Every rank along the mesh's dimension has the same.
[[nodiscard]] inline placement replicate() { return {}; }
/// Cut along dimension `dim` of the tensor, which may count from the back: balanced, so that any
/// length goes over any number of ranks; a short tensor leaves the last ranks empty shards.
[[nodiscard]] placement shard(int dim);
/// Likewise in parts of these sizes, one for each rank along the mesh's dimension. PyTorch's 5 rows
/// over 4 ranks are {2, 2, 1, 0}.
[[nodiscard]] placement shard(int dim, std::span<std::int64_t const> sizes);
/// Every rank has a contribution; their reduction is the value. `errc::invalid_argument` for a
/// premultiplied sum, whose factors a placement does not know.
[[nodiscard]] placement partial(reduction how = reduction::sum);

/// One placement for each dimension of a mesh: `placements(replicate(), shard(0))`.
class placements {
 public:
  placements() = default;
  /// In the order of the mesh's dimensions.
  template <std::same_as<placement>... P>
  requires(sizeof...(P) >= 1) placements(P... each) {  // NOLINT: implicit, so that braces do
    list_.reserve(sizeof...(P));
    (list_.push_back(std::move(each)), ...);
  }
  /// Likewise from a list.
  explicit placements(std::vector<placement> list) : list_(std::move(list)) {}

  /// @{
  /// As a list.
  [[nodiscard]] std::size_t size() const noexcept { return list_.size(); }
  [[nodiscard]] placement const& operator[](std::size_t i) const { return list_[i]; }
  [[nodiscard]] auto begin() const noexcept { return list_.begin(); }
  [[nodiscard]] auto end() const noexcept { return list_.end(); }
  /// @}
  /// The same for each dimension.
  friend bool operator==(placements const&, placements const&) = default;

 private:
  std::vector<placement> list_;
};

/// "(replicate, shard(0), partial(sum))".
[[nodiscard]] std::string to_string(placements const& where);

/// A block of a tensor: which indices of each dimension.
struct tensor_box {
  /// Number of dimensions.
  std::size_t ndim = 0;
  /// Of the first element.
  std::array<std::int64_t, shape::ndim_max> start{};
  /// Indices of each dimension.
  std::array<std::int64_t, shape::ndim_max> extent{};

  /// As a shape.
  [[nodiscard]] shape extents() const;
  /// Elements; 1 for a scalar.
  [[nodiscard]] std::int64_t numel() const noexcept;
  /// What is in both, which must have as many dimensions.
  [[nodiscard]] tensor_box operator&(tensor_box const& other) const noexcept;
};

/// The block of a tensor of shape `full` that lies on the rank at `where`. A dimension cut by
/// several dimensions of the mesh is cut by the first one first. `errc::invalid_argument` with the
/// numbers where placements and mesh, dimension and shape, or sizes and length do not go together.
[[nodiscard]] tensor_box local_box(shape const& full, mesh_layout const& mesh,
                                   placements const& where_to, mesh_coordinate const& where);

}  // namespace hocket
