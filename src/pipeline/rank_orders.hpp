// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// The order in which one rank of a known schedule computes.
#pragma once

#include <hocket/pipeline/action.hpp>
#include <utility>
#include <vector>

namespace hocket {

struct pipeline_shape {
  int ranks;
  int microbatches;
  int chunks;  // stages on each rank, in the order of the pipeline
  bool is_v;   // chunk 1 runs up the ranks that chunk 0 runs down
};

/// Collects one rank's actions, and leaves out those of microbatches that are not there. Orders may
/// therefore be written for the number of microbatches that makes them regular: what remains keeps
/// its order, and actions need only others of their own microbatch.
class rank_writer {
 public:
  rank_writer(pipeline_shape const& shape, int rank) : shape_(shape), rank_(rank) {}

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int ranks() const noexcept { return shape_.ranks; }
  [[nodiscard]] int microbatches() const noexcept { return shape_.microbatches; }
  [[nodiscard]] int chunks() const noexcept { return shape_.chunks; }

  void add(action_kind kind, int chunk, int microbatch) {
    if (microbatch < shape_.microbatches) actions_.emplace_back(stage_of(chunk), kind, microbatch);
  }
  [[nodiscard]] std::vector<action> actions() && { return std::move(actions_); }

 private:
  [[nodiscard]] int stage_of(int chunk) const noexcept {
    return shape_.is_v && chunk == 1 ? 2 * shape_.ranks - 1 - rank_ : chunk * shape_.ranks + rank_;
  }

  pipeline_shape shape_;
  int rank_;
  std::vector<action> actions_;
};

using rank_order = void(rank_writer& out);

rank_order order_forward;
rank_order order_gpipe;
rank_order order_1f1b;
rank_order order_interleaved;
rank_order order_zb_h1;
rank_order order_zbv;
rank_order order_dualpipev;

}  // namespace hocket
