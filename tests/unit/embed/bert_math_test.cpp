// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "bert_math.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "embed_support.hpp"

namespace {

// Values that depend on the index and on who asks.
std::vector<float> values(std::size_t n, double who) {
  std::vector<float> out(n);
  for (std::size_t i = 0; i < n; ++i)
    out[i] = static_cast<float>(std::sin(static_cast<double>(i) * 0.7 + who));
  return out;
}

double at(std::vector<float> const& x, std::size_t i) { return static_cast<double>(x[i]); }

}  // namespace

TEST_CASE("a linear layer is x times the transposed weight plus the bias") {
  for (std::size_t const rows : {0UL, 1UL, 5UL}) {
    std::size_t const inputs = 7;
    std::size_t const outputs = 3;
    auto const weight = values(outputs * inputs, 1);
    auto const bias = values(outputs, 2);
    auto const x = values(rows * inputs, 3);
    std::vector<float> out(rows * outputs, -99);
    embed::apply_linear({weight, bias}, x, out);
    std::vector<float> expected;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t o = 0; o < outputs; ++o) {
        double sum = at(bias, o);
        for (std::size_t i = 0; i < inputs; ++i)
          sum += at(x, r * inputs + i) * at(weight, o * inputs + i);
        expected.push_back(static_cast<float>(sum));
      }
    }
    CHECK(embed_test::max_abs_difference(out, expected) < 1e-6);
  }
}

TEST_CASE("a norm gives each row mean shift and deviation scale") {
  std::vector<float> const ones(5, 1);
  std::vector<float> const zeros(5, 0);
  auto x = values(15, 4);
  embed::apply_norm({ones, zeros}, 1e-12F, x);
  for (std::size_t row = 0; row < 3; ++row) {
    double mean = 0;
    double squares = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      mean += at(x, row * 5 + i) / 5;
      squares += at(x, row * 5 + i) * at(x, row * 5 + i) / 5;
    }
    CHECK(std::abs(mean) < 1e-6);
    CHECK(std::abs(squares - 1) < 1e-5);
  }
  std::vector<float> flat(5, 3.5F);
  std::vector<float> const shift(5, 0.25F);
  embed::apply_norm({ones, shift}, 1e-12F, flat);
  CHECK(flat == shift);
}

TEST_CASE("GELU is the exact one") {
  std::vector<float> x = {-6, -1, 0, 0.5F, 1, 6};
  embed::apply_gelu(x);
  std::vector<float> const expected = {-5.919526e-9F, -0.15865525F, 0, 0.34573123F, 0.84134475F, 6};
  CHECK(embed_test::max_abs_difference(x, expected) < 3e-7);
}

TEST_CASE("attention of some rows over all keys and values is the textbook's") {
  for (std::size_t const rows : {0UL, 1UL, 3UL}) {
    embed::attention_shape const shape = {2, 3, rows, 5};
    auto const q = values(rows * 6, 5);
    auto const k = values(5 * 6, 6);
    auto const v = values(5 * 6, 7);
    std::vector<float> scores(shape.scores());
    std::vector<float> out(rows * 6, -99);
    embed::score_keys(shape, q, k, scores);
    embed::mix_values(shape, scores, v, out);
    std::vector<float> expected(rows * 6);
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < 6; ++column) {
        std::size_t const band = column / 3 * 3;
        double total = 0;
        double mixed = 0;
        for (std::size_t key = 0; key < 5; ++key) {
          double dot = 0;
          for (std::size_t i = band; i < band + 3; ++i)
            dot += at(q, row * 6 + i) * at(k, key * 6 + i);
          double const weight = std::exp(dot / std::sqrt(3.0));
          total += weight;
          mixed += weight * at(v, key * 6 + column);
        }
        expected[row * 6 + column] = static_cast<float>(mixed / total);
      }
    }
    CHECK(embed_test::max_abs_difference(out, expected) < 1e-6);
  }
}

TEST_CASE("attention keeps its weights finite where the exponential of a score is not") {
  embed::attention_shape const shape = {1, 1, 1, 3};
  std::vector<float> const q = {1000};
  std::vector<float> const k = {1, -1, 0.5F};
  std::vector<float> scores(3);
  embed::score_keys(shape, q, k, scores);
  CHECK(scores == std::vector<float>{1, 0, 0});
}

TEST_CASE("sums of shards make the same mean as the whole") {
  auto const x = values(7 * 4, 8);
  std::vector<float> whole(4);
  embed::add_rows(x, whole);
  std::vector<float> parts(4);
  embed::add_rows(std::span(x).first(12), parts);
  embed::add_rows(std::span(x).subspan(12, 0), parts);
  embed::add_rows(std::span(x).subspan(12), parts);
  embed::mean_to_unit(whole, 7);
  embed::mean_to_unit(parts, 7);
  CHECK(embed_test::max_abs_difference(whole, parts) < 1e-6);
  double squares = 0;
  for (float const value : whole)
    squares += static_cast<double>(value) * static_cast<double>(value);
  CHECK(std::abs(squares - 1) < 1e-6);
  std::vector<float> zero(4);
  embed::mean_to_unit(zero, 1);
  CHECK(zero == std::vector<float>(4));
}
