// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "bert_config.hpp"
#include "safetensors.hpp"

namespace embed {

/// y = x W^T + b; `weight` is [outputs, inputs], row-major.
struct linear_weights {
  std::span<float const> weight;
  std::span<float const> bias;

  [[nodiscard]] std::size_t outputs() const noexcept { return bias.size(); }
  [[nodiscard]] std::size_t inputs() const noexcept { return weight.size() / bias.size(); }
};

struct norm_weights {
  std::span<float const> scale;
  std::span<float const> shift;
};

struct embedding_weights {
  std::span<float const> words;      ///< [vocabulary, hidden]
  std::span<float const> positions;  ///< [positions, hidden]
  std::span<float const> types;      ///< [token_types, hidden]
  norm_weights norm;
};

struct layer_weights {
  linear_weights query, key, value;
  linear_weights attention_out;
  norm_weights attention_norm;
  linear_weights up, down;  ///< hidden -> intermediate -> hidden
  norm_weights output_norm;
};

/// Layers [first, last) of a model.
struct layer_range {
  std::size_t first = 0;
  std::size_t last = 0;

  [[nodiscard]] std::size_t size() const noexcept { return last - first; }
};

/// The layers of one pipeline stage: the first `layers % stages` stages have one more. Throws
/// `errc::invalid_argument` if `stage >= stages` or a stage would have no layer.
[[nodiscard]] layer_range layers_of_stage(std::size_t layers, std::size_t stages,
                                          std::size_t stage);

/// What one pipeline stage needs of a model: spans into the mapped file, so that only what the
/// stage touches is read from the disk and ranks of one host share the pages. Immutable; any
/// number of threads; copies share the file.
class bert_weights {
 public:
  /// Throws `hocket::error` as `safetensors_file::f32` does, or `errc::invalid_argument` for a
  /// range outside the model.
  bert_weights(std::shared_ptr<safetensors_file const> file, bert_config const& config,
               layer_range layers);

  /// Only the first stage uses them.
  [[nodiscard]] embedding_weights const& embeddings() const noexcept { return embeddings_; }

  /// The layers of the range, in order.
  [[nodiscard]] std::span<layer_weights const> layers() const noexcept { return layers_; }

 private:
  std::shared_ptr<safetensors_file const> file_;
  embedding_weights embeddings_;
  std::vector<layer_weights> layers_;
};

}  // namespace embed
