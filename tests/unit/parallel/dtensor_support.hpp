// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <algorithm>
#include <hocket/parallel/dtensor.hpp>
#include <vector>

namespace hocket::test {

/// Whether a block has the element at `index` of the whole.
inline bool has(tensor_box const& box, std::vector<std::int64_t> const& index) {
  for (std::size_t i = 0; i < box.ndim; ++i)
    if (index[i] < box.start[i] || index[i] >= box.start[i] + box.extent[i]) return false;
  return true;
}

/// Every index of a tensor, the last dimension fastest.
inline std::vector<std::vector<std::int64_t>> indices_of(shape const& full) {
  std::vector<std::vector<std::int64_t>> all{{}};
  for (auto const n : full) {
    std::vector<std::vector<std::int64_t>> more;
    for (auto const& head : all)
      for (std::int64_t i = 0; i < n; ++i) {
        more.push_back(head);
        more.back().push_back(i);
      }
    all = std::move(more);
  }
  return all;
}

/// Which of a rank's partial dimensions are contributions of one value: its place among them.
inline int contribution_of(placements const& where, mesh_layout const& mesh,
                           mesh_coordinate const& c) {
  int number = 0;
  for (std::size_t i = 0; i < mesh.ndim(); ++i)
    if (where[i].is_partial()) number = number * mesh.size(i) + c[i];
  return number;
}

inline int contributions_of(placements const& where, mesh_layout const& mesh) {
  int n = 1;
  for (std::size_t i = 0; i < mesh.ndim(); ++i)
    if (where[i].is_partial()) n *= mesh.size(i);
  return n;
}

/// The fewest elements that have to travel, counted element by element and rank by rank, for one
/// mesh. Dimensions that stay partial are worlds of their own.
inline std::int64_t elements_needed(shape const& full, mesh_layout const& mesh,
                                    placements const& from, placements const& to) {
  auto const stays = [&](std::size_t i) { return from[i].is_partial() && from[i] == to[i]; };
  auto const same_layer = [&](mesh_coordinate const& a, mesh_coordinate const& b) {
    for (std::size_t i = 0; i < mesh.ndim(); ++i)
      if (stays(i) && a[i] != b[i]) return false;
    return true;
  };
  int contributions = 1;
  for (std::size_t i = 0; i < mesh.ndim(); ++i)
    if (from[i].is_partial() && !stays(i)) contributions *= mesh.size(i);
  auto const wants = [&](mesh_coordinate const& c, std::vector<std::int64_t> const& index) {
    for (std::size_t i = 0; i < mesh.ndim(); ++i)
      if (to[i].is_partial() && !stays(i) && c[i] != 0) return false;
    return has(local_box(full, mesh, to, c), index);
  };
  std::vector<mesh_coordinate> ranks;
  for (auto const r : mesh.ranks()) ranks.push_back(*mesh.coordinate_of(r));
  std::int64_t sum = 0;
  for (auto const& index : indices_of(full)) {
    for (auto const& layer : ranks) {
      bool const first = std::ranges::none_of(
          ranks, [&](auto const& other) { return other < layer && same_layer(other, layer); });
      if (!first) continue;
      int wanting = 0;
      int holding = 0;  // of those that want it
      for (auto const& c : ranks) {
        if (!same_layer(c, layer) || !wants(c, index)) continue;
        ++wanting;
        if (has(local_box(full, mesh, from, c), index)) ++holding;
      }
      sum += contributions == 1 ? wanting - holding
                                : contributions - (holding > 0 ? 1 : 0) + wanting - 1;
    }
  }
  return sum;
}

/// This rank's shard of a tensor with elements 1, 2, 3, …: where it is partial by sums, every
/// rank's contribution is another one.
inline dtensor numbered_shard(shape const& full, device_mesh const& mesh, placements const& where) {
  auto const whole = tensor::arange(dtype::i64, full, 1);
  auto const box = local_box(full, mesh.layout(), where, mesh.coordinate());
  auto view = whole;
  for (std::size_t i = 0; i < box.ndim; ++i)
    view = view.slice(static_cast<std::int64_t>(i), box.start[i], box.extent[i]);
  auto const local = view.clone();
  int const n = contributions_of(where, mesh.layout());
  int const mine = contribution_of(where, mesh.layout(), mesh.coordinate());
  auto* const e = local.data<std::int64_t>();
  for (std::int64_t i = 0; i < local.numel(); ++i) {
    std::int64_t const base = 100 * e[i];
    if (mine > 0) {
      e[i] = base + mine;
    } else {  // what is left of the value
      for (int other = 1; other < n; ++other) e[i] -= base + other;
    }
  }
  return dtensor(local, mesh, where, full);
}

/// What the rank should have of that tensor where it is not partial.
inline tensor numbered_block(shape const& full, mesh_layout const& mesh, placements const& where,
                             mesh_coordinate const& c) {
  auto view = tensor::arange(dtype::i64, full, 1);
  auto const box = local_box(full, mesh, where, c);
  for (std::size_t i = 0; i < box.ndim; ++i)
    view = view.slice(static_cast<std::int64_t>(i), box.start[i], box.extent[i]);
  return view;
}

/// Every way to place a tensor of `ndim` dimensions (at most two of them cut) on a mesh.
inline std::vector<placements> all_placements(std::size_t mesh_ndim, std::size_t ndim) {
  std::vector<std::vector<placement>> all{{}};
  std::vector<placement> each{replicate(), partial(reduction::sum)};
  for (std::size_t d = 0; d < std::min<std::size_t>(ndim, 2); ++d)
    each.push_back(shard(static_cast<int>(d)));
  for (std::size_t i = 0; i < mesh_ndim; ++i) {
    std::vector<std::vector<placement>> more;
    for (auto const& head : all)
      for (auto const& p : each) {
        more.push_back(head);
        more.back().push_back(p);
      }
    all = std::move(more);
  }
  std::vector<placements> result;
  for (auto& list : all) result.emplace_back(std::move(list));
  return result;
}

}  // namespace hocket::test
