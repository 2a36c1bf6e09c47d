// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <hocket/error.hpp>
#include <hocket/parallel/placement.hpp>
#include <numeric>

namespace hocket {

placement shard(int dim) {
  placement p;
  p.how_ = placement::kind::shard;
  p.dim_ = dim;
  return p;
}

placement shard(int dim, std::span<std::int64_t const> sizes) {
  std::int64_t sum = 0;
  bool const wrong = std::ranges::any_of(
      sizes, [&](std::int64_t n) { return n < 0 || __builtin_add_overflow(sum, n, &sum); });
  if (sizes.empty() || wrong)
    throw error(
        errc::invalid_argument,
        fmt::format("shards of [{}] along dimension {}: at least one, none negative, no more "
                    "than 2^63 - 1 in all",
                    fmt::join(sizes, ","), dim));
  auto p = shard(dim);
  p.sizes_.assign(sizes.begin(), sizes.end());
  return p;
}

placement partial(reduction how) {
  if (how == reduction::premultiplied_sum)
    throw error(
        errc::invalid_argument,
        "partial(premultiplied_sum): a placement does not know the ranks' factors; multiply "
        "and use partial(sum)");
  placement p;
  p.how_ = placement::kind::partial;
  p.reduction_ = how;
  return p;
}

std::string to_string(placements const& where) {
  std::string text;
  for (auto const& p : where) {
    if (!text.empty()) text += ", ";
    if (p.is_replicate()) text += "replicate";
    if (p.is_partial()) text += fmt::format("partial({})", name_of(p.reduction()));
    if (p.is_shard() && p.sizes().empty()) text += fmt::format("shard({})", p.dim());
    if (p.is_shard() && !p.sizes().empty())
      text += fmt::format("shard({}, [{}])", p.dim(), fmt::join(p.sizes(), ","));
  }
  return "(" + text + ")";
}

shape tensor_box::extents() const { return shape(std::span(extent.data(), ndim)); }

std::int64_t tensor_box::numel() const noexcept {
  std::int64_t n = 1;
  for (std::size_t i = 0; i < ndim; ++i) n *= extent[i];
  return n;
}

tensor_box tensor_box::operator&(tensor_box const& other) const noexcept {
  tensor_box both;
  both.ndim = ndim;
  for (std::size_t i = 0; i < ndim; ++i) {
    both.start[i] = std::max(start[i], other.start[i]);
    auto const end = std::min(start[i] + extent[i], other.start[i] + other.extent[i]);
    both.extent[i] = std::max<std::int64_t>(0, end - both.start[i]);
  }
  return both;
}

namespace {

// Narrows one dimension of a block to the part of rank `i` of `n`.
void cut(tensor_box& box, std::size_t dim, placement const& p, int i, int n) {
  auto& length = box.extent[dim];
  if (p.sizes().empty()) {
    auto const longer = length % n;
    box.start[dim] += length / n * i + std::min<std::int64_t>(i, longer);
    length = length / n + (i < longer ? 1 : 0);
    return;
  }
  auto const sum = std::accumulate(p.sizes().begin(), p.sizes().end(), std::int64_t{0});
  if (p.sizes().size() != static_cast<std::size_t>(n) || sum != length)
    throw error(errc::invalid_argument,
                fmt::format("shards of [{}], {} in all, of {} indices over {} ranks",
                            fmt::join(p.sizes(), ","), sum, length, n));
  box.start[dim] += std::accumulate(p.sizes().begin(), p.sizes().begin() + i, std::int64_t{0});
  length = p.sizes()[static_cast<std::size_t>(i)];
}

}  // namespace

tensor_box local_box(shape const& full, mesh_layout const& mesh, placements const& where_to,
                     mesh_coordinate const& where) {
  if (where_to.size() != mesh.ndim())
    throw error(errc::invalid_argument,
                fmt::format("{} placements {} for a mesh of {} dimensions", where_to.size(),
                            to_string(where_to), mesh.ndim()));
  tensor_box box;
  box.ndim = full.size();
  std::ranges::copy(full, box.extent.begin());
  for (std::size_t i = 0; i < mesh.ndim(); ++i)
    if (auto const& p = where_to[i]; p.is_shard())
      cut(box, full.dim_index(p.dim()), p, where[i], mesh.size(i));
  return box;
}

}  // namespace hocket
