// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Sizes at which the host engine changes how it moves bytes: one less, the same, and one more.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <host_ranks.hpp>
#include <string>
#include <vector>

using namespace hocket;
using namespace hocket::test;
namespace asio = boost::asio;

namespace {

std::byte value_at(int rank, std::size_t i) {
  return static_cast<std::byte>((i * 2654435761U >> 7) + static_cast<std::size_t>(rank) * 37);
}

tensor of_rank(int rank, std::int64_t bytes) {
  auto t = tensor::empty(dtype::u8, shape(bytes));
  for (std::size_t i = 0; i < t.nbytes(); ++i) t.bytes()[i] = value_at(rank, i);
  return t;
}

tensor cleared(std::int64_t bytes) {
  auto t = tensor::empty(dtype::u8, shape(bytes));
  std::memset(t.bytes(), 0, t.nbytes());
  return t;
}

bool is_of(int rank, std::byte const* bytes, std::int64_t n) {
  auto const want = of_rank(rank, n);
  return std::memcmp(bytes, want.bytes(), want.nbytes()) == 0;
}

asio::awaitable<void> passes_on(process_group g, std::int64_t n) {
  int const me = g.rank().value(), ranks = g.size();
  auto const got = cleared(n);
  auto const before = (me + ranks - 1) % ranks;
  auto sending = g.send(of_rank(me, n), group_rank((me + 1) % ranks));
  co_await g.recv(got, group_rank(before));
  co_await std::move(sending);
  CHECK_MESSAGE(is_of(before, got.bytes(), n), n << " bytes of rank " << before);
}

asio::awaitable<void> broadcasts(process_group g, std::int64_t n) {
  int const root = g.size() / 2;
  auto const t = g.rank().value() == root ? of_rank(root, n) : cleared(n);
  co_await g.broadcast(t, group_rank(root));
  CHECK_MESSAGE(is_of(root, t.bytes(), n), n << " bytes of root " << root);
}

asio::awaitable<void> gathers(process_group g, std::int64_t n) {
  auto const all = cleared(n * g.size());
  co_await g.all_gather(all, of_rank(g.rank().value(), n));
  for (int r = 0; r < g.size(); ++r)
    CHECK_MESSAGE(is_of(r, all.bytes() + r * n, n), n << " bytes of rank " << r);
}

asio::awaitable<void> reduces(process_group g, std::int64_t n) {
  auto const t = of_rank(g.rank().value(), n);
  co_await g.all_reduce(t);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < t.nbytes(); ++i) {
    unsigned sum = 0;
    for (int r = 0; r < g.size(); ++r) sum += std::to_integer<unsigned>(value_at(r, i));
    wrong += t.bytes()[i] == static_cast<std::byte>(sum) ? 0 : 1;
  }
  CHECK_MESSAGE(wrong == 0, wrong << " of " << n << " bytes");
}

asio::awaitable<void> moves(process_group g, std::int64_t n) {
  co_await passes_on(g, n);
  co_await broadcasts(g, n);
  co_await gathers(g, n);
  co_await reduces(g, n);
}

asio::awaitable<void> moves_all(world w) {
  auto const g = w.group();
  std::int64_t const kib = 1024;
  std::vector<std::int64_t> limits = {8 * kib, 16 * kib / std::max(g.size() - 1, 1), 128 * kib,
                                      256 * kib, 1024 * kib};
  for (auto const limit : limits)
    for (std::int64_t const n : {limit - 1, limit, limit + 1}) co_await moves(g, n);
  for (std::int64_t const n : {0, 1}) co_await moves(g, n);
}

}  // namespace

TEST_CASE("bytes arrive whole at and around every threshold, on 2, 3 and 5 ranks") {
  for (int const ranks : {2, 3, 5}) run_host_ranks(ranks, moves_all);
}

TEST_CASE("and where other threads drive the loop") { run_host_ranks_on_pool(3, moves_all); }
