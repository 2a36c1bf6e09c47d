// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "pipeline/rank_orders.hpp"

#include <algorithm>

namespace hocket {
namespace {

constexpr auto F = action_kind::forward;
constexpr auto B = action_kind::backward;
constexpr auto I = action_kind::backward_input;
constexpr auto W = action_kind::backward_weight;

int groups_of(rank_writer const& out) {
  return (out.microbatches() + out.ranks() - 1) / out.ranks();
}

}  // namespace

// A group of as many microbatches as ranks goes through all chunks before the next one begins: when
// its first comes round to rank 0, its last has just left.
void order_forward(rank_writer& out) {
  int const p = out.ranks();
  for (int group = 0; group < groups_of(out); ++group)
    for (int chunk = 0; chunk < out.chunks(); ++chunk)
      for (int i = 0; i < p; ++i) out.add(F, chunk, group * p + i);
}

void order_gpipe(rank_writer& out) {
  for (int chunk = 0; chunk < out.chunks(); ++chunk)
    for (int m = 0; m < out.microbatches(); ++m) out.add(F, chunk, m);
  for (int chunk = out.chunks(); chunk-- > 0;)
    for (int m = 0; m < out.microbatches(); ++m) out.add(B, chunk, m);
}

void order_1f1b(rank_writer& out) {
  int const count = out.microbatches();
  int const ahead = std::min(out.ranks() - out.rank() - 1, count);
  for (int m = 0; m < ahead; ++m) out.add(F, 0, m);
  for (int m = 0; m < count; ++m) {
    out.add(F, 0, m + ahead);
    out.add(B, 0, m);
  }
}

// W trails I by as many microbatches as the rank's number. The first gradients thus come up the
// pipeline without a W between them, and each rank has Ws left for the end, where it would wait.
void order_zb_h1(rank_writer& out) {
  int const count = out.microbatches();
  int const ahead = std::min(out.ranks() - out.rank() - 1, count);
  int const behind = std::min(out.rank(), count);
  for (int m = 0; m < ahead; ++m) out.add(F, 0, m);
  for (int m = 0; m < count; ++m) {
    out.add(F, 0, m + ahead);
    out.add(I, 0, m);
    if (m >= behind) out.add(W, 0, m - behind);
  }
  for (int m = count - behind; m < count; ++m) out.add(W, 0, m);
}

// Groups of as many microbatches as ranks; a group's forwards go through all chunks, its backwards
// through all in reverse. The warm-up reaches to the first backward: the way through the last
// chunk and back, and all chunks before it.
void order_interleaved(rank_writer& out) {
  int const p = out.ranks();
  int const v = out.chunks();
  int const count = groups_of(out) * p * v;
  int const ahead = std::min(2 * (p - out.rank() - 1) + (v - 1) * p, count);
  auto const chunk_of = [&](int i) { return i % (p * v) / p; };
  auto const microbatch_of = [&](int i) { return i / (p * v) * p + i % p; };
  auto const forward = [&](int i) {
    if (i < count) out.add(F, chunk_of(i), microbatch_of(i));
  };
  for (int i = 0; i < ahead; ++i) forward(i);
  for (int i = 0; i < count; ++i) {
    forward(i + ahead);
    out.add(B, v - 1 - chunk_of(i), microbatch_of(i));
  }
}

}  // namespace hocket
