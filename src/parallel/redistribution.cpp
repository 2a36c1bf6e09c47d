// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "redistribution.hpp"

#include <algorithm>

namespace hocket::detail {
namespace {

// Every coordinate that agrees with `base` except along the dimensions that `varies` names; the
// last dimension fastest.
template <class Varies>
std::vector<mesh_coordinate> all_along(mesh_layout const& mesh, mesh_coordinate const& base,
                                       Varies varies) {
  std::vector<mesh_coordinate> all{base};
  for (std::size_t i = 0; i < mesh.ndim(); ++i) {
    if (!varies(i)) continue;
    std::vector<mesh_coordinate> more;
    for (auto c : all)
      for (c[i] = 0; c[i] < mesh.size(i); ++c[i]) more.push_back(c);
    all = std::move(more);
  }
  return all;
}

// Part k of n of a block, cut along its longest dimension.
tensor_box share(tensor_box box, std::size_t k, std::size_t n) {
  if (n == 1) return box;
  auto const longest = static_cast<std::size_t>(
      std::max_element(box.extent.begin(),
                       box.extent.begin() + static_cast<std::ptrdiff_t>(box.ndim)) -
      box.extent.begin());
  auto const i = static_cast<std::int64_t>(k);
  auto const parts = static_cast<std::int64_t>(n);
  auto const length = box.extent[longest];
  box.start[longest] += length / parts * i + std::min(i, length % parts);
  box.extent[longest] = length / parts + (i < length % parts ? 1 : 0);
  return box;
}

}  // namespace

redistribution::redistribution(shape full, tensor_side from, tensor_side to)
    : full_(full), from_(std::move(from)), to_(std::move(to)) {
  bool const same_mesh = from_.mesh == to_.mesh;
  static_cast<void>(local_box(full_, from_.mesh, from_.where, {}));  // they go together
  static_cast<void>(local_box(full_, to_.mesh, to_.where, {}));
  for (std::size_t i = 0; i < from_.mesh.ndim(); ++i) {
    if (!from_.where[i].is_partial()) continue;
    how_ = from_.where[i].reduction();
    layers_[i] = same_mesh && to_.where[i] == from_.where[i];
    if (!layers_[i]) contributions_ *= from_.mesh.size(i);
  }
}

tensor_box redistribution::source_box(coordinate const& c) const {
  return local_box(full_, from_.mesh, from_.where, c);
}
tensor_box redistribution::target_box(coordinate const& c) const {
  return local_box(full_, to_.mesh, to_.where, c);
}

std::optional<tensor_box> redistribution::held_by(world_rank r) const {
  auto const c = from_.mesh.coordinate_of(r);
  return c ? std::optional(source_box(*c)) : std::nullopt;
}
std::optional<tensor_box> redistribution::due_at(world_rank r) const {
  auto const c = to_.mesh.coordinate_of(r);
  return c ? std::optional(target_box(*c)) : std::nullopt;
}

bool redistribution::wants(world_rank r) const {
  auto const c = to_.mesh.coordinate_of(r);
  return c && wants(*c);
}

// Of ranks that become contributors the first one gets the value, the others nothing; of an average
// each gets the value.
bool redistribution::wants(coordinate const& target) const {
  for (std::size_t i = 0; i < to_.mesh.ndim(); ++i) {
    auto const& p = to_.where[i];
    if (p.is_partial() && !is_layer(i) && p.reduction() != reduction::average && target[i] != 0)
      return false;
  }
  return true;
}

redistribution::coordinate redistribution::class_of_source(coordinate c) const {
  for (std::size_t i = 0; i < from_.mesh.ndim(); ++i)
    if (!from_.where[i].is_shard() && !is_layer(i)) c[i] = 0;
  return c;
}

redistribution::coordinate redistribution::class_of_target(coordinate c) const {
  for (std::size_t i = 0; i < to_.mesh.ndim(); ++i)
    if (!to_.where[i].is_shard() && !is_layer(i)) c[i] = 0;
  return c;
}

std::vector<redistribution::coordinate> redistribution::target_classes() const {
  return all_along(to_.mesh, {},
                   [this](std::size_t i) { return to_.where[i].is_shard() || is_layer(i); });
}

std::vector<redistribution::coordinate> redistribution::source_classes(
    coordinate const& target_class) const {
  coordinate base{};
  for (std::size_t i = 0; i < from_.mesh.ndim(); ++i)
    if (is_layer(i)) base[i] = target_class[i];
  return all_along(from_.mesh, base, [this](std::size_t i) { return from_.where[i].is_shard(); });
}

bool redistribution::same_layers(coordinate const& a, coordinate const& b) const noexcept {
  for (std::size_t i = 0; i < from_.mesh.ndim(); ++i)
    if (is_layer(i) && a[i] != b[i]) return false;
  return true;
}

std::vector<redistribution::coordinate> redistribution::wanters(
    coordinate const& target_class) const {
  auto all = all_along(to_.mesh, target_class,
                       [this](std::size_t i) { return !to_.where[i].is_shard() && !is_layer(i); });
  std::erase_if(all, [this](coordinate const& c) { return !wants(c); });
  return all;
}

// Who has what of a source class before it goes further. Without a reduction everybody who wants it
// takes all of it.
redistribution::piece redistribution::piece_of(coordinate const& source_class,
                                               coordinate const& target_class,
                                               std::vector<coordinate> const& wanting) const {
  piece p;
  p.source_class = source_class;
  p.box = source_box(source_class) & target_box(target_class);
  if (reduces()) {
    for (auto const& w : wanting) {
      auto const held = from_.mesh.coordinate_of(to_.mesh.at(w));
      if (held && class_of_source(*held) == source_class) p.owners.push_back(w);
    }
    p.owner_contributes = !p.owners.empty();
  }
  if (p.owners.empty()) p.owners = wanting;
  if (reduces() && p.box.ndim == 0) p.owners.resize(1);  // a scalar cannot be shared
  return p;
}

std::vector<redistribution::piece> redistribution::pieces(coordinate const& target_class) const {
  std::vector<piece> all;
  auto const wanting = wanters(target_class);
  for (auto const& c : source_classes(target_class)) {
    auto p = piece_of(c, target_class, wanting);
    if (p.box.numel() != 0) all.push_back(std::move(p));
  }
  return all;
}

tensor_box redistribution::part_of(piece const& p, std::size_t owner) const {
  return reduces() ? share(p.box, owner, p.owners.size()) : p.box;
}

// The ranks of a source class that a rank gets its contributions from: of the replicas the one that
// stands where it does, so that what it holds stays, and the load is even.
std::vector<world_rank> redistribution::givers(coordinate const& source_class,
                                               coordinate const& owner) const {
  auto const rank = to_.mesh.at(owner);
  auto const own = from_.mesh.coordinate_of(rank);
  coordinate base = source_class;
  int spread = to_.mesh.ranks().group_rank_of(rank)->value();
  for (std::size_t i = 0; i < from_.mesh.ndim(); ++i) {
    if (!from_.where[i].is_replicate()) continue;
    base[i] = own ? (*own)[i] : spread % from_.mesh.size(i);
    spread /= from_.mesh.size(i);
  }
  std::vector<world_rank> ranks;
  for (auto const& c : all_along(from_.mesh, base, [this](std::size_t i) {
         return from_.where[i].is_partial() && !is_layer(i);
       }))
    ranks.push_back(from_.mesh.at(c));
  return ranks;
}

std::vector<block_transfer> redistribution::receives(world_rank me) const {
  std::vector<block_transfer> all;
  auto const mine = to_.mesh.coordinate_of(me);
  if (reduces() || !mine || !wants(*mine)) return all;
  for (auto const& p : pieces(class_of_target(*mine)))
    all.emplace_back(givers(p.source_class, *mine).front(), p.box);
  return all;
}

std::vector<block_reduction> redistribution::reductions(world_rank me) const {
  std::vector<block_reduction> all;
  auto const mine = to_.mesh.coordinate_of(me);
  if (!reduces() || !mine || !wants(*mine)) return all;
  for (auto const& p : pieces(class_of_target(*mine))) {
    auto const found = std::ranges::find(p.owners, *mine);
    if (found == p.owners.end()) continue;
    block_reduction r;
    r.box = part_of(p, static_cast<std::size_t>(found - p.owners.begin()));
    r.contributors = givers(p.source_class, *mine);
    if (r.box.numel() != 0) all.push_back(std::move(r));
  }
  return all;
}

std::vector<block_transfer> redistribution::sends(world_rank me) const {
  std::vector<block_transfer> all;
  auto const held = from_.mesh.coordinate_of(me);
  if (!held) return all;
  auto const mine = class_of_source(*held);
  for (auto const& d : target_classes()) {
    if (!same_layers(mine, d)) continue;
    auto const p = piece_of(mine, d, wanters(d));
    for (std::size_t k = 0; k < p.owners.size(); ++k) {
      auto const box = part_of(p, k);
      auto const to = to_.mesh.at(p.owners[k]);
      if (to == me || box.numel() == 0) continue;
      auto const from = givers(mine, p.owners[k]);
      if (std::ranges::find(from, me) != from.end()) all.emplace_back(to, box);
    }
  }
  return all;
}

std::vector<block_transfer> redistribution::receives_after(world_rank me) const {
  std::vector<block_transfer> all;
  auto const mine = to_.mesh.coordinate_of(me);
  if (!reduces() || !mine || !wants(*mine)) return all;
  for (auto const& p : pieces(class_of_target(*mine)))
    for (std::size_t k = 0; k < p.owners.size(); ++k)
      if (auto const box = part_of(p, k); p.owners[k] != *mine && box.numel() != 0)
        all.emplace_back(to_.mesh.at(p.owners[k]), box);
  return all;
}

std::vector<block_transfer> redistribution::sends_after(world_rank me) const {
  std::vector<block_transfer> all;
  auto const mine = to_.mesh.coordinate_of(me);
  if (!reduces() || !mine || !wants(*mine)) return all;
  auto const d = class_of_target(*mine);
  auto const wanting = wanters(d);
  for (auto const& p : pieces(d)) {
    auto const found = std::ranges::find(p.owners, *mine);
    if (found == p.owners.end()) continue;
    auto const box = part_of(p, static_cast<std::size_t>(found - p.owners.begin()));
    for (auto const& w : wanting)
      if (w != *mine && box.numel() != 0) all.emplace_back(to_.mesh.at(w), box);
  }
  return all;
}

// Without a reduction each rank needs what it wants and does not hold. With one: until the first
// rank knows a value, each contribution but its own has travelled at least once; every other rank
// that wants it needs one more message, later.
std::int64_t redistribution::elements_min() const {
  std::int64_t sum = 0;
  for (auto const& d : target_classes()) {
    auto const wanting = wanters(d);
    for (auto const& p : pieces(d)) {
      std::int64_t each = 0;
      if (reduces()) {
        each = contributions_ - (p.owner_contributes ? 1 : 0) +
               static_cast<std::int64_t>(wanting.size()) - 1;
      } else {
        each = std::ranges::count_if(wanting, [&](coordinate const& w) {
          auto const held = from_.mesh.coordinate_of(to_.mesh.at(w));
          return !held || class_of_source(*held) != p.source_class;
        });
      }
      sum += each * p.box.numel();
    }
  }
  return sum;
}

}  // namespace hocket::detail
