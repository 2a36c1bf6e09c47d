// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Every placement to every other, against a tensor that one process has whole; and no byte more
// than needed.
#include <doctest/doctest.h>

#include <hocket/parallel/dtensor.hpp>
#include <ranks.hpp>
#include <vector>

#include "dtensor_support.hpp"
#include "programs.hpp"

using namespace hocket;
namespace asio = boost::asio;

namespace {

// Bytes that every rank received, by pair of placements.
class pair_traffic {
 public:
  std::vector<std::int64_t> bytes;
};

bool is_partial(placements const& where) {
  for (auto const& p : where)
    if (p.is_partial()) return true;
  return false;
}

asio::awaitable<void> check_pair(device_mesh mesh, shape full, placements from, placements to,
                                 std::int64_t& bytes) {
  auto const before = mesh.bytes_received();
  auto source = test::numbered_shard(full, mesh, from);
  auto const kept = source.to_local().clone();
  auto moved = co_await redistribute(source, to);
  bytes += static_cast<std::int64_t>(mesh.bytes_received() - before);
  CHECK(equal(kept, source.to_local()));
  CHECK(moved.shape() == full);
  CHECK(moved.where() == to);
  if (is_partial(to)) {
    auto whole = co_await full_tensor(moved);
    CHECK(equal(whole, tensor::arange(dtype::i64, full, 1)));
  } else {
    auto const right = test::numbered_block(full, mesh.layout(), to, mesh.coordinate());
    CHECK(equal(moved.to_local(), right));
  }
}

asio::awaitable<void> every_pair(world w, shape sizes, shape full, pair_traffic& traffic) {
  auto mesh = co_await init_device_mesh(w, sizes);
  auto const all = test::all_placements(sizes.size(), full.size());
  traffic.bytes.resize(all.size() * all.size());
  std::size_t pair = 0;
  for (auto const& from : all)
    for (auto const& to : all) co_await check_pair(mesh, full, from, to, traffic.bytes[pair++]);
  co_await mesh.close();
}

void try_every_pair(shape const& sizes, shape const& full) {
  auto const ranks = static_cast<int>(sizes.numel());
  CAPTURE(ranks);
  CAPTURE(to_string(full));
  pair_traffic traffic;
  test::run_ranks(ranks, [&](world w) { return every_pair(w, sizes, full, traffic); });
  mesh_layout const mesh(rank_group::consecutive(world_rank(0), ranks), sizes);
  auto const all = test::all_placements(sizes.size(), full.size());
  std::size_t pair = 0;
  for (auto const& from : all)
    for (auto const& to : all) {
      auto const needed = 8 * test::elements_needed(full, mesh, from, to);
      auto const said = redistribute_bytes(dtype::i64, full, mesh, from, mesh, to);
      bool const least =
          traffic.bytes[pair] == needed && said == static_cast<std::uint64_t>(needed);
      CHECK_MESSAGE(least, to_string(from), " to ", to_string(to), ": moved ", traffic.bytes[pair],
                    " bytes, needed ", needed, ", said ", said);
      ++pair;
    }
}

}  // namespace

TEST_CASE("every placement becomes every other on a mesh of one dimension, 1 to 8 ranks, uneven") {
  for (int n = 1; n <= 8; ++n) {
    try_every_pair({n}, {7, 5});
    try_every_pair({n}, {3});
    try_every_pair({n}, {2, 0});
    try_every_pair({n}, shape());
  }
}

TEST_CASE("every placement becomes every other on meshes of two dimensions") {
  try_every_pair({2, 2}, {7, 5});
  try_every_pair({2, 3}, {5, 4, 2});
  try_every_pair({4, 2}, {5, 3});
  try_every_pair({1, 3}, {5, 3});
  try_every_pair({2, 2}, shape());
}

TEST_CASE("every placement becomes every other on a mesh of three dimensions") {
  try_every_pair({2, 2, 2}, {5, 3});
  try_every_pair({1, 2, 3}, {4, 7});
}
