// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <cstring>
#include <hocket/error.hpp>
#include <hocket/tensor/copy.hpp>
#include <hocket/tensor/split_plan.hpp>

namespace hocket {
namespace {

// Zeroes the end of every row of a contiguous shard along the plan's dimension.
void clear_padding(tensor const& shard, std::size_t dim, std::int64_t valid) {
  auto const& extents = shard.shape();
  std::size_t inner = size_of(shard.dtype());
  std::size_t outer = 1;
  for (std::size_t i = 0; i < extents.size(); ++i)
    if (i != dim) (i < dim ? outer : inner) *= static_cast<std::size_t>(extents[i]);
  auto const row = static_cast<std::size_t>(extents[dim]) * inner;
  auto const kept = static_cast<std::size_t>(valid) * inner;
  auto* at = shard.bytes();
  for (std::size_t i = 0; i < outer; ++i, at += row) std::memset(at + kept, 0, row - kept);
}

void check_shard(tensor const& full, tensor const& shard, split_plan const& plan, int part) {
  auto const expected = plan.shard_shape(full.shape(), part);
  if (shard.shape() != expected || shard.dtype() != full.dtype())
    throw error(
        errc::invalid_argument,
        fmt::format("part {} is {}, expected {}{} of {} ({})", part, brief(shard),
                    name_of(full.dtype()), to_string(expected), brief(full), to_string(plan)));
}

}  // namespace

tensor split(tensor const& full, split_plan const& plan, int part) {
  auto shard = tensor::empty(full.dtype(), plan.shard_shape(full.shape(), part));
  auto const dim = static_cast<std::int64_t>(plan.dim());
  for (auto const& p : plan.pieces(part))
    copy(shard.slice(dim, p.part_start, p.length), full.slice(dim, p.full_start, p.length));
  if (auto const valid = plan.valid_size(part); valid != plan.part_size(part))
    clear_padding(shard, plan.dim(), valid);
  return shard;
}

tensor split_view(tensor const& full, split_plan const& plan, int part) {
  auto const extents = plan.shard_shape(full.shape(), part);
  auto const pieces = plan.pieces(part);
  auto const dim = static_cast<std::int64_t>(plan.dim());
  if (extents[plan.dim()] == 0) return full.slice(dim, 0, 0);
  if (pieces.size() != 1 || pieces[0].length != extents[plan.dim()]) return split(full, plan, part);
  return full.slice(dim, pieces[0].full_start, pieces[0].length);
}

void place(tensor const& full, tensor const& shard, split_plan const& plan, int part) {
  check_shard(full, shard, plan, part);
  auto const dim = static_cast<std::int64_t>(plan.dim());
  for (auto const& p : plan.pieces(part))
    copy(full.slice(dim, p.full_start, p.length), shard.slice(dim, p.part_start, p.length));
}

void place(tensor const& full, tensor const& shard, split_plan const& plan, int part,
           write_lease const& lease) {
  check_shard(full, shard, plan, part);
  auto const dim = static_cast<std::int64_t>(plan.dim());
  for (auto const& p : plan.pieces(part))
    copy(full.slice(dim, p.full_start, p.length), shard.slice(dim, p.part_start, p.length), lease);
}

tensor gather(std::span<tensor const> shards, split_plan const& plan) {
  if (shards.size() != static_cast<std::size_t>(plan.parts()))
    throw error(errc::invalid_argument,
                fmt::format("{} parts for the plan: {}", shards.size(), to_string(plan)));
  auto full = tensor::empty(shards[0].dtype(), plan.full_shape(shards[0].shape()));
  for (int part = 0; part < plan.parts(); ++part)
    place(full, shards[static_cast<std::size_t>(part)], plan, part);
  return full;
}

}  // namespace hocket
