// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "bert_config.hpp"
#include "bert_math.hpp"
#include "bert_weights.hpp"
#include "wordpiece.hpp"

namespace embed {

/// A model directory, opened: configuration, tokeniser and the mapped weights.
class bert_model {
 public:
  /// Throws `hocket::error` as the readers of the single files do, or `errc::corrupt` if the
  /// tokeniser has more pieces than the model has word vectors or the weights are those of another
  /// number of layers than the configuration says.
  explicit bert_model(std::filesystem::path const& directory);

  [[nodiscard]] bert_config const& config() const noexcept { return config_; }
  [[nodiscard]] wordpiece const& tokeniser() const noexcept { return tokeniser_; }

  /// The token ids of a sentence, cut as the model cuts.
  [[nodiscard]] std::vector<token_id> encode(std::string_view sentence) const {
    return tokeniser_.encode(sentence, config_.tokens_max);
  }

  /// The weights of these layers; they keep the file mapped, also beyond this object.
  [[nodiscard]] bert_weights weights(layer_range layers) const {
    return bert_weights(file_, config_, layers);
  }
  [[nodiscard]] bert_weights weights() const { return weights({0, config_.layers}); }

 private:
  bert_config config_;
  wordpiece tokeniser_;
  std::shared_ptr<safetensors_file const> file_;
};

/// Room for the steps of one layer over one shard; reused from layer to layer, request to request.
struct layer_scratch {
  std::vector<float> query;   ///< [rows, hidden]
  std::vector<float> scores;  ///< [heads, rows, length]
  std::vector<float> mixed;   ///< [rows, hidden]
  std::vector<float> dense;   ///< [rows, hidden]
  std::vector<float> wide;    ///< [rows, intermediate]

  /// Sets the sizes; allocates only to grow.
  void fit(bert_config const& config, attention_shape const& shape);
};

/// The shape of attention for `rows` of a sequence of `length`.
[[nodiscard]] attention_shape shape_of(bert_config const& config, std::size_t rows,
                                       std::size_t length) noexcept;

/// out[ids, hidden]: the input vectors of a run of tokens of one sequence, the first of which is at
/// `first_position`. Throws `errc::invalid_argument` for an id outside the vocabulary or a position
/// outside the model.
void embed_tokens(embedding_weights const& weights, bert_config const& config,
                  std::span<token_id const> ids, std::size_t first_position, std::span<float> out);

// The steps of a layer over the shard x[rows, hidden], in order. Between them a context-parallel
// rank gathers the keys after the first and the values after the second; a lone rank does nothing.
//   apply_linear(layer.key, x, key);          // then the gather of all keys may start
//   apply_linear(layer.value, x, value);      // then the gather of all values may start
//   apply_linear(layer.query, x, scratch.query);
//   attend_keys(...)                          // needs all keys
//   attend_values(...)                        // needs all values

/// Attention weights of the local rows: reads scratch.query and all keys, fills scratch.scores.
void attend_keys(attention_shape const& shape, std::span<float const> all_keys,
                 layer_scratch& scratch);

/// The rest of the layer: reads scratch.scores, all values and the layer's input x[rows, hidden],
/// which becomes its output.
void attend_values(layer_weights const& layer, bert_config const& config,
                   attention_shape const& shape, std::span<float const> all_values,
                   std::span<float> x, layer_scratch& scratch);

}  // namespace embed
