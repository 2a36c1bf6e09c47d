// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <hocket/async/clock.hpp>
#include <hocket/async/work.hpp>
#include <hocket/group/process_group.hpp>
#include <hocket/group/world.hpp>
#include <hocket/parallel/mesh_layout.hpp>
#include <hocket/parallel/parallel_state.hpp>
#include <memory>
#include <source_location>
#include <string_view>
#include <vector>

namespace hocket {

namespace detail {
class mesh_core;
}

/// Axes of a state, the mesh's first dimension first: `mesh_axes(axis::dp, axis::tp)`.
class mesh_axes {
 public:
  /// At least one.
  template <std::same_as<axis>... Axes>
  requires(sizeof...(Axes) >= 1) mesh_axes(Axes... each)  // NOLINT: implicit, so that braces do
      : list_(sizeof...(Axes)) {
    std::size_t i = 0;
    ((list_[i++] = each), ...);
  }
  /// As a list.
  [[nodiscard]] std::vector<axis> const& list() const noexcept { return list_; }

 private:
  std::vector<axis> list_;
};

/// Ranks in one to five dimensions, and this rank's groups along each: the DeviceMesh of PyTorch.
///
/// A copyable handle; any thread may call. Groups of one rank are disabled. A mesh without groups
/// (a layout alone) says where tensors lie, for ranks that are not in it and after its groups are
/// gone; asked for a group it throws `errc::not_a_member`.
class device_mesh {
 public:
  /// A mesh of no ranks.
  device_mesh();
  /// Without groups.
  explicit device_mesh(mesh_layout layout);
  /// A mesh along axes of a state, with the state's groups: nothing is created. The first of `axes`
  /// is the mesh's first dimension; names by default those of the axes. Of several axes there must
  /// be a group along all of them (see `ParallelState::group`), else `errc::invalid_argument`. Its
  /// groups end with the state.
  device_mesh(ParallelState const& state, mesh_axes const& axes,
              mesh_names const& names = mesh_names());

  /// Which ranks stand where.
  [[nodiscard]] mesh_layout const& layout() const noexcept;
  /// Number of dimensions.
  [[nodiscard]] std::size_t ndim() const noexcept { return layout().ndim(); }
  /// Ranks along a dimension.
  [[nodiscard]] int size(std::size_t dim) const { return layout().size(dim); }
  /// Whether this rank is in it and has its groups.
  [[nodiscard]] bool has_groups() const noexcept;
  /// This rank.
  [[nodiscard]] world_rank rank() const;
  /// Where this rank stands.
  [[nodiscard]] mesh_coordinate const& coordinate() const;

  /// @{
  /// The ranks that differ from this one along one dimension only; disabled if there is no other.
  [[nodiscard]] process_group group(std::size_t dim) const;
  [[nodiscard]] process_group get_group(std::string_view name) const {
    return group(layout().dim_index(name));
  }
  /// @}
  /// This rank's place along a dimension.
  [[nodiscard]] int get_local_rank(std::string_view name) const {
    return coordinate()[layout().dim_index(name)];
  }
  /// All ranks of the mesh, in the order of `layout().ranks()`.
  [[nodiscard]] process_group whole() const;

  /// Payload bytes that `redistribute` has brought to this rank over this mesh so far; with
  /// `redistribute_bytes` one sees that no more were moved than needed.
  [[nodiscard]] std::uint64_t bytes_received() const noexcept;

  /// Closes the groups that `init_device_mesh` made, the last one first; those of a state stay.
  work<> close() const;

  /// Handles on the same mesh.
  friend bool operator==(device_mesh const& a, device_mesh const& b) noexcept {
    return a.core_ == b.core_;
  }

  /// @cond
  explicit device_mesh(std::shared_ptr<detail::mesh_core> c) noexcept : core_(std::move(c)) {}
  [[nodiscard]] std::shared_ptr<detail::mesh_core> const& core() const noexcept { return core_; }
  /// @endcond

 private:
  std::shared_ptr<detail::mesh_core> core_;
};

/// A mesh of some ranks, row by row in the order of the list, with groups of its own. Only the
/// members call, with the same arguments; done when all have. A rank outside the list gets
/// `errc::not_a_member` at once; wrong sizes are `errc::invalid_argument` before anything is
/// created. If it fails, nothing remains.
[[nodiscard]] work<device_mesh> init_device_mesh(
    world const& w, rank_group const& ranks, shape const& sizes,
    mesh_names const& names = mesh_names(), clock::duration timeout = std::chrono::minutes(30),
    std::source_location site = std::source_location::current());
/// Of all ranks of the world.
[[nodiscard]] work<device_mesh> init_device_mesh(
    world const& w, shape const& sizes, mesh_names const& names = mesh_names(),
    clock::duration timeout = std::chrono::minutes(30),
    std::source_location site = std::source_location::current());

}  // namespace hocket
