// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "bert_math.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <hocket/detail/assert.hpp>
#include <numbers>

namespace embed {
namespace {

blasint blas(std::size_t n) noexcept { return static_cast<blasint>(n); }

void softmax(std::span<float> row) noexcept {
  float const peak = *std::max_element(row.begin(), row.end());
  double total = 0;
  for (float& x : row) {
    x = std::exp(x - peak);
    total += static_cast<double>(x);
  }
  auto const share = static_cast<float>(1 / total);
  for (float& x : row) x *= share;
}

}  // namespace

void use_one_blas_thread() noexcept { openblas_set_num_threads(1); }

void apply_linear(linear_weights const& weights, std::span<float const> x, std::span<float> out) {
  std::size_t const inputs = weights.inputs();
  std::size_t const outputs = weights.outputs();
  std::size_t const rows = x.size() / inputs;
  HOCKET_ASSERT(x.size() == rows * inputs && out.size() == rows * outputs);
  if (rows == 0) return;
  for (std::size_t row = 0; row < rows; ++row)
    std::copy(weights.bias.begin(), weights.bias.end(), out.subspan(row * outputs).begin());
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, blas(rows), blas(outputs), blas(inputs), 1,
              x.data(), blas(inputs), weights.weight.data(), blas(inputs), 1, out.data(),
              blas(outputs));
}

void apply_norm(norm_weights const& weights, float eps, std::span<float> rows) {
  std::size_t const width = weights.scale.size();
  HOCKET_ASSERT(rows.size() % width == 0 && weights.shift.size() == width);
  auto const n = static_cast<double>(width);
  for (std::size_t at = 0; at < rows.size(); at += width) {
    std::span<float> const row = rows.subspan(at, width);
    double mean = 0;
    for (float const x : row) mean += static_cast<double>(x);
    mean /= n;
    double variance = 0;
    for (float const x : row)
      variance += (static_cast<double>(x) - mean) * (static_cast<double>(x) - mean);
    variance /= n;
    double const inverse = 1 / std::sqrt(variance + static_cast<double>(eps));
    for (std::size_t i = 0; i < width; ++i) {
      auto const centred = static_cast<float>((static_cast<double>(row[i]) - mean) * inverse);
      row[i] = centred * weights.scale[i] + weights.shift[i];
    }
  }
}

void apply_gelu(std::span<float> x) noexcept {
  constexpr float inverse_sqrt2 = std::numbers::sqrt2_v<float> / 2;
  for (float& value : x) value = value / 2 * (1 + std::erf(value * inverse_sqrt2));
}

void add_to(std::span<float> sum, std::span<float const> x) {
  HOCKET_ASSERT(sum.size() == x.size());
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += x[i];
}

void score_keys(attention_shape const& shape, std::span<float const> q, std::span<float const> k,
                std::span<float> scores) {
  std::size_t const hidden = shape.hidden();
  HOCKET_ASSERT(q.size() == shape.rows * hidden && k.size() == shape.length * hidden);
  HOCKET_ASSERT(scores.size() == shape.scores());
  if (scores.empty()) return;
  float const scale = 1 / std::sqrt(static_cast<float>(shape.head_width));
  // A head is a band of columns, so no row is moved: only the leading dimension is the whole width.
  for (std::size_t head = 0; head < shape.heads; ++head) {
    std::size_t const column = head * shape.head_width;
    std::size_t const at = head * shape.rows * shape.length;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, blas(shape.rows), blas(shape.length),
                blas(shape.head_width), scale, q.data() + column, blas(hidden), k.data() + column,
                blas(hidden), 0, scores.data() + at, blas(shape.length));
  }
  for (std::size_t at = 0; at < scores.size(); at += shape.length)
    softmax(scores.subspan(at, shape.length));
}

void mix_values(attention_shape const& shape, std::span<float const> scores,
                std::span<float const> v, std::span<float> out) {
  std::size_t const hidden = shape.hidden();
  HOCKET_ASSERT(scores.size() == shape.scores() && v.size() == shape.length * hidden);
  HOCKET_ASSERT(out.size() == shape.rows * hidden);
  if (out.empty()) return;
  for (std::size_t head = 0; head < shape.heads; ++head) {
    std::size_t const column = head * shape.head_width;
    std::size_t const at = head * shape.rows * shape.length;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, blas(shape.rows), blas(shape.head_width),
                blas(shape.length), 1, scores.data() + at, blas(shape.length), v.data() + column,
                blas(hidden), 0, out.data() + column, blas(hidden));
  }
}

void add_rows(std::span<float const> x, std::span<float> sum) {
  HOCKET_ASSERT(!sum.empty() && x.size() % sum.size() == 0);
  for (std::size_t at = 0; at < x.size(); at += sum.size()) add_to(sum, x.subspan(at, sum.size()));
}

void mean_to_unit(std::span<float> sum, std::size_t length) {
  HOCKET_ASSERT(length > 0);
  // The floor keeps a zero vector zero, as the reference implementation does.
  constexpr double norm_min = 1e-12;
  double squares = 0;
  for (float& x : sum) {
    x /= static_cast<float>(length);
    squares += static_cast<double>(x) * static_cast<double>(x);
  }
  auto const norm = static_cast<float>(std::max(std::sqrt(squares), norm_min));
  for (float& x : sum) x /= norm;
}

}  // namespace embed
