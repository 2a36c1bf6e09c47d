// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "embed_local.hpp"

#include <fmt/format.h>

#include <hocket/error.hpp>

namespace embed {

std::vector<float> embed_local(bert_config const& config, bert_weights const& weights,
                               std::span<token_id const> ids) {
  std::size_t const length = ids.size();
  if (length == 0 || weights.layers().size() != config.layers)
    throw hocket::error(hocket::errc::invalid_argument,
                        fmt::format("{} tokens through {} of {} layers: at least one token and all "
                                    "layers are needed",
                                    length, weights.layers().size(), config.layers));
  use_one_blas_thread();
  attention_shape const shape = shape_of(config, length, length);
  layer_scratch scratch;
  scratch.fit(config, shape);
  std::vector<float> x(length * config.hidden);
  std::vector<float> keys(x.size());
  std::vector<float> values(x.size());
  embed_tokens(weights.embeddings(), config, ids, 0, x);
  for (layer_weights const& layer : weights.layers()) {
    apply_linear(layer.key, x, keys);
    apply_linear(layer.value, x, values);
    apply_linear(layer.query, x, scratch.query);
    attend_keys(shape, keys, scratch);
    attend_values(layer, config, shape, values, x, scratch);
  }
  std::vector<float> embedding(config.hidden);
  add_rows(x, embedding);
  mean_to_unit(embedding, length);
  return embedding;
}

}  // namespace embed
