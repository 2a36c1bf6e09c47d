// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "move_record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <hocket/error.hpp>
#include <span>

namespace hocket::detail {
namespace {

constexpr std::size_t dims_at = 3;
constexpr std::size_t from_at = dims_at + shape::ndim_max;
constexpr std::size_t to_at = from_at + mesh_layout::ndim_max;
constexpr std::size_t hashes_at = to_at + mesh_layout::ndim_max;
constexpr std::size_t columns = hashes_at + 3;
constexpr std::int64_t kinds = 1000;

// "shard(1)" is 1001; -1: there is no such dimension of the mesh.
std::int64_t code_of(placement const& p, shape const& global) {
  std::int64_t detail = 0;
  if (p.is_partial()) detail = static_cast<std::int64_t>(p.reduction());
  if (p.is_shard()) {
    auto const ndim = static_cast<std::int64_t>(global.size());
    detail = p.dim() < 0 ? p.dim() + ndim : p.dim();
  }
  return static_cast<std::int64_t>(p.how()) * kinds + detail;
}

std::string text_of(std::span<std::int64_t const> codes) {
  std::vector<std::string> each;
  for (auto const code : codes) {
    if (code < 0) continue;
    auto const kind = static_cast<placement::kind>(code / kinds);
    if (kind == placement::kind::replicate) each.emplace_back("replicate");
    if (kind == placement::kind::shard) each.push_back(fmt::format("shard({})", code % kinds));
    if (kind == placement::kind::partial)
      each.push_back(fmt::format("partial({})", name_of(static_cast<reduction>(code % kinds))));
  }
  return fmt::format("({})", fmt::join(each, ", "));
}

std::string text_of_record(std::span<std::int64_t const> r) {
  auto const ndim = static_cast<std::size_t>(r[2]);
  return fmt::format(
      "{}[{}] from {} to {} (meshes {:08x}, {:08x}; shard sizes {:08x})",
      name_of(static_cast<dtype>(r[1])), fmt::join(r.subspan(dims_at, ndim), ","),
      text_of(r.subspan(from_at, mesh_layout::ndim_max)),
      text_of(r.subspan(to_at, mesh_layout::ndim_max)), static_cast<std::uint32_t>(r[hashes_at]),
      static_cast<std::uint32_t>(r[hashes_at + 1]), static_cast<std::uint32_t>(r[hashes_at + 2]));
}

std::uint64_t hash_of_sizes(placements const& where, std::uint64_t h) {
  for (auto const& p : where) {
    h = (h ^ p.sizes().size()) * 0x100000001b3u;  // FNV-1a's prime
    for (auto const n : p.sizes()) h = (h ^ static_cast<std::uint64_t>(n)) * 0x100000001b3u;
  }
  return h;
}

}  // namespace

tensor record_of(dtensor const& from, mesh_layout const& to, placements const& where,
                 bool is_unable) {
  auto t = tensor::full(dtype::i64, shape(columns), -1);
  auto* const r = t.data<std::int64_t>();
  r[0] = is_unable ? 1 : 0;
  if (!from.defined()) return t;
  r[1] = static_cast<std::int64_t>(from.dtype());
  r[2] = static_cast<std::int64_t>(from.shape().size());
  std::ranges::copy(from.shape(), r + dims_at);
  auto const put = [&](placements const& p, std::size_t at) {
    for (std::size_t i = 0; i < std::min(p.size(), mesh_layout::ndim_max); ++i)
      r[at + i] = code_of(p[i], from.shape());
  };
  put(from.where(), from_at);
  put(where, to_at);
  r[hashes_at] = static_cast<std::int64_t>(from.mesh().layout().hash());
  r[hashes_at + 1] = static_cast<std::int64_t>(to.hash());
  r[hashes_at + 2] =
      static_cast<std::int64_t>(hash_of_sizes(where, hash_of_sizes(from.where(), 0)));
  return t;
}

void expect_agreement(tensor const& records, process_group const& over,
                      std::exception_ptr const& unable) {
  if (unable) std::rethrow_exception(unable);
  auto const all = records.as_span<std::int64_t>();
  auto const row = [&](int r) {
    return all.subspan(static_cast<std::size_t>(r) * columns, columns);
  };
  auto const world_rank_of = [&](int r) { return over.members()[group_rank(r)].value(); };
  for (int r = 0; r < over.size(); ++r)
    if (row(r)[0] != 0)
      throw error(errc::peer_failed,
                  fmt::format("{}: redistribute: world rank {} could not take part", over.label(),
                              world_rank_of(r)));
  for (int r = 1; r < over.size(); ++r)
    if (!std::ranges::equal(row(0), row(r)))
      throw error(errc::mismatch,
                  fmt::format("{}: redistribute: world rank {}: {}; world rank {}: {}",
                              over.label(), world_rank_of(0), text_of_record(row(0)),
                              world_rank_of(r), text_of_record(row(r))));
}

}  // namespace hocket::detail
