// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <hocket/error.hpp>
#include <hocket/parallel/mesh_layout.hpp>

namespace hocket {
namespace {

shape row_major(shape const& sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) {
    // A product that does not fit is found when the sizes are compared with the ranks.
    if (__builtin_mul_overflow(strides[i], sizes[i], &strides[i - 1])) strides[i - 1] = 1;
  }
  return shape(strides);
}

void check_names(std::vector<std::string>& names, std::size_t ndim) {
  if (names.empty())
    for (std::size_t i = 0; i < ndim; ++i) names.push_back(fmt::format("dim{}", i));
  bool right = names.size() == ndim;
  for (auto n = names.begin(); n != names.end(); ++n)
    right = right && !n->empty() && std::find(names.begin(), n, *n) == n;
  if (!right)
    throw error(
        errc::invalid_argument,
        fmt::format("a mesh of {} dimensions with the names \"{}\": one for each dimension, "
                    "none empty or repeated",
                    ndim, fmt::join(names, "\", \"")));
}

}  // namespace

mesh_layout::mesh_layout(rank_group ranks, shape const& sizes, mesh_names const& names)
    : mesh_layout(std::move(ranks), sizes, row_major(sizes), names) {}

mesh_layout::mesh_layout(rank_group ranks, shape const& sizes, shape const& strides,
                         mesh_names const& names)
    : ranks_(std::move(ranks)), names_(names.list()) {
  if (sizes.size() == 0 || sizes.size() > ndim_max || strides.size() != sizes.size())
    throw error(
        errc::invalid_argument,
        fmt::format("a mesh of {} dimensions: at least 1, at most {}", sizes.size(), ndim_max));
  check_names(names_, sizes.size());
  std::int64_t product = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    bool const fits = sizes[i] >= 1 && sizes[i] <= ranks_.size() &&
                      !__builtin_mul_overflow(product, sizes[i], &product);
    if (!fits) product = -1;
    if (!fits) break;
    sizes_[i] = static_cast<int>(sizes[i]);
    strides_[i] = static_cast<int>(strides[i]);
  }
  if (product != ranks_.size())
    throw error(errc::invalid_argument,
                fmt::format("a mesh of {} over {} ranks: every size at least 1, and their product "
                            "the number of ranks",
                            fmt::join(sizes, " x "), ranks_.size()));
}

int mesh_layout::size(std::size_t dim) const {
  if (dim < ndim()) return sizes_[dim];
  throw error(errc::invalid_argument,
              fmt::format("dimension {} of a mesh of {} dimensions", dim, ndim()));
}

std::size_t mesh_layout::dim_index(std::string_view name) const {
  auto const found = std::ranges::find(names_, name);
  if (found != names_.end()) return static_cast<std::size_t>(found - names_.begin());
  throw error(errc::invalid_argument, fmt::format("the mesh has no dimension \"{}\"; it has \"{}\"",
                                                  name, fmt::join(names_, "\", \"")));
}

std::optional<mesh_coordinate> mesh_layout::coordinate_of(world_rank rank) const noexcept {
  auto const place = ranks_.group_rank_of(rank);
  if (!place) return std::nullopt;
  mesh_coordinate where{};
  for (std::size_t i = 0; i < ndim(); ++i) where[i] = place->value() / strides_[i] % sizes_[i];
  return where;
}

world_rank mesh_layout::at(mesh_coordinate const& where) const noexcept {
  int place = 0;
  for (std::size_t i = 0; i < ndim(); ++i) place += where[i] * strides_[i];
  return ranks_[group_rank(place)];
}

rank_group mesh_layout::along(std::size_t dim, mesh_coordinate const& where) const {
  int first = 0;
  for (std::size_t i = 0; i < ndim(); ++i)
    if (i != dim) first += where[i] * strides_[i];
  return ranks_.slice(group_rank(first), size(dim), strides_[dim]);
}

std::uint64_t mesh_layout::hash() const noexcept {
  std::uint64_t h = ranks_.hash();
  for (std::size_t i = 0; i < ndim(); ++i)
    for (int const n : {sizes_[i], strides_[i]})
      h = (h ^ static_cast<std::uint64_t>(n)) * 0x100000001b3u;  // FNV-1a's prime
  return h;
}

bool operator==(mesh_layout const& a, mesh_layout const& b) noexcept {
  return a.ndim() == b.ndim() && a.sizes_ == b.sizes_ && a.strides_ == b.strides_ &&
         a.ranks_ == b.ranks_;
}

std::string to_string(mesh_layout const& mesh) {
  std::vector<std::string> dims;
  for (std::size_t i = 0; i < mesh.ndim(); ++i)
    dims.push_back(fmt::format("{} {}", mesh.name(i), mesh.size(i)));
  return fmt::format("{} over {}", fmt::join(dims, " x "), to_string(mesh.ranks()));
}

}  // namespace hocket
