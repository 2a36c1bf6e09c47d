// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <span>

#include "bert_weights.hpp"

namespace embed {

// Arithmetic on row-major rows. Nothing here allocates; shards of zero rows are fine everywhere.
// Sizes that do not fit together are broken invariants (HOCKET_ASSERT).

/// Keeps OpenBLAS on the calling thread, for the whole process: parallelism is the ranks'.
void use_one_blas_thread() noexcept;

/// out[rows, outputs] = x[rows, inputs] W^T + b. `out` must not overlap `x`.
void apply_linear(linear_weights const& weights, std::span<float const> x, std::span<float> out);

/// Each row, in place: (x - mean) / sqrt(variance + eps) * scale + shift.
void apply_norm(norm_weights const& weights, float eps, std::span<float> rows);

/// x / 2 (1 + erf(x / sqrt 2)), in place.
void apply_gelu(std::span<float> x) noexcept;

/// sum += x, element by element.
void add_to(std::span<float> sum, std::span<float const> x);

/// How attention of some rows of a sequence over all of it is laid out.
struct attention_shape {
  std::size_t heads = 0;
  std::size_t head_width = 0;
  std::size_t rows = 0;    ///< queries: the rows of this shard
  std::size_t length = 0;  ///< keys and values: the whole sequence

  [[nodiscard]] std::size_t hidden() const noexcept { return heads * head_width; }
  [[nodiscard]] std::size_t scores() const noexcept { return heads * rows * length; }
};

/// scores[heads, rows, length] = softmax over the keys of Q K^T / sqrt(head_width), for
/// q[rows, hidden] and k[length, hidden]. Needs no values: they may still be on their way.
void score_keys(attention_shape const& shape, std::span<float const> q, std::span<float const> k,
                std::span<float> scores);

/// out[rows, hidden] = scores V, for v[length, hidden].
void mix_values(attention_shape const& shape, std::span<float const> scores,
                std::span<float const> v, std::span<float> out);

/// sum[hidden] += the rows of x[rows, hidden]: a shard's part of the mean.
void add_rows(std::span<float const> x, std::span<float> sum);

/// The sum of `length` rows becomes their mean, scaled to Euclidean length 1, in place.
void mean_to_unit(std::span<float> sum, std::size_t length);

}  // namespace embed
