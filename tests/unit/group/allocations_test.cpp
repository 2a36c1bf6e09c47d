// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <hocket/detail/block_pool.hpp>
#include <vector>

#include "count_allocations.hpp"
#include "virtual_world.hpp"

#ifndef HOCKET_SANITIZED

using namespace hocket;
using namespace hocket::test;

TEST_CASE("operations reach the general allocator only to warm up") {
  constexpr int n = 3;
  virtual_world v(n);
  std::vector<process_group> g;
  std::vector<tensor> ins;
  std::vector<tensor> outs;
  for (int r = 0; r < n; ++r) {
    g.push_back(v.group(r));
    ins.push_back(tensor::full(dtype::f32, {2, 5}, r));
    outs.push_back(tensor::zeros(dtype::f32, {2 * n, 5}));
  }
  std::vector<work<>> pending;
  pending.reserve(64);
  bool right = true;
  auto const round = [&] {
    for (std::size_t r = 0; r < n; ++r) {
      pending.push_back(g[r].all_gather(outs[r], ins[r]));
      pending.push_back(g[r].broadcast(ins[r], group_rank(1)));
      pending.push_back(g[r].barrier());
      group_rank const next(static_cast<int>((r + 1) % n));
      pending.push_back(g[r].send(ins[r], next, op_options().tag(7)));
    }
    for (std::size_t r = 0; r < n; ++r) {
      group_rank const before(static_cast<int>((r + n - 1) % n));
      auto const got = g[r].recv(before, op_options().tag(7));
      right = right && got.ready() && !got.state()->failed();
    }
    for (auto const& p : pending) right = right && p.ready() && !p.state()->failed();
    pending.clear();
  };
  for (int i = 0; i < 3; ++i) round();
  auto const before = hocket_test::allocations();
  for (int i = 0; i < 1000; ++i) round();
  auto const after = hocket_test::allocations();
  CHECK(after - before == 0);
  CHECK(right);
}

#endif
