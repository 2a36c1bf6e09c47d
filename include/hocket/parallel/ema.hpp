// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <hocket/parallel/dtensor.hpp>
#include <optional>
#include <vector>

namespace hocket {

/// Keeps the exponential moving average of a model's parameters, and lends it to the model: the
/// updater of cosmos, for parameters that are sharded or not.
///
/// Every rank works on its own shards; nothing is communicated. Lists are those of two models with
/// equal parameters in one order: another length, shape, placement or kind at some place is
/// `errc::invalid_argument` naming it, before anything is written. Tensors must be in host memory.
/// To evaluate with the average: `cache(net)`, `copy_to(ema, net)`, evaluate, `restore(net)`.
/// Threads: one at a time.
class DTensorFastEmaModelUpdater {
 public:
  /// Writes the source's values to the target's tensors. Between f32, f64, f16 and bf16 they are
  /// rounded; other dtypes must be equal.
  void copy_to(std::vector<state_tensor> const& source,
               std::vector<state_tensor> const& target) const;

  /// target = beta * target + (1 - beta) * source, computed as target + (1 - beta) * (source -
  /// target), rounded after each step, with equal bits on every processor: a beta near 1 would lose
  /// its last digits as a factor in f32. Targets must be f32, in which an average still moves where
  /// f16 or bf16 would stand still; sources f32, f16 or bf16. `beta` is from 0 to 1.
  void update_average(std::vector<state_tensor> const& source,
                      std::vector<state_tensor> const& target, double beta = 0.9999) const;

  /// Keeps a copy of the parameters, in host memory with `is_cpu`, else where they are.
  /// `errc::already_initialized` if one is kept.
  void cache(std::vector<state_tensor> const& parameters, bool is_cpu = false);
  /// Writes the kept copy back, bit for bit, and forgets it. `errc::not_initialized` without one;
  /// parameters that do not fit it leave it kept.
  void restore(std::vector<state_tensor> const& parameters);
  /// Whether a copy is kept.
  [[nodiscard]] bool is_cached() const noexcept { return kept_.has_value(); }

 private:
  std::optional<std::vector<tensor>> kept_;
};

/// The beta of step `iteration` for an average whose standard deviation is `rate` of the training
/// time so far (power function averages; Karras et al., arXiv 2312.02696, eq. 4 and 126): 0 before
/// step 1, then (1 - 1/(iteration + 1))^(e + 1), where e is the largest real root of
/// x^3 + 7 x^2 + (16 - rate^-2) x + 12 - rate^-2. `errc::invalid_argument` unless 0 < rate <
/// 0.2886.
[[nodiscard]] double ema_beta(std::int64_t iteration, double rate);

}  // namespace hocket
