// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "bert_encoder.hpp"
#include "figures.hpp"

namespace embed {

/// Whom the ranks work for. Only rank 0 has one; it never sees the others.
class client {
 public:
  virtual ~client() = default;
  /// The number of requests; called once, before the rest, and may block. What it throws every rank
  /// throws.
  virtual std::size_t open() = 0;
  /// The tokens of request `index`; requests are asked for in order. May block.
  virtual std::vector<token_id> tokens(bert_model const& model, std::size_t index) = 0;
  /// The unit vector of request `index`, in order, each as soon as all before it are there. On the
  /// rank's executor.
  virtual void take(std::size_t index, std::span<float const> embedding) = 0;
  /// What each rank did with its time, after the last vector.
  virtual void report(std::span<rank_figures const> figures) = 0;
};

/// What all ranks of a run are told alike, but for `client` and `workers`.
struct embed_job {
  std::shared_ptr<bert_model const> model;
  int cp = 1;                 ///< ranks that share a sequence
  int pp = 1;                 ///< stages that share the layers
  std::size_t in_flight = 1;  ///< requests that a rank works on at a time
  boost::asio::any_io_executor
      workers;                      ///< where this rank computes; never the rank's own executor
  embed::client* client = nullptr;  ///< used by rank 0
};

}  // namespace embed
