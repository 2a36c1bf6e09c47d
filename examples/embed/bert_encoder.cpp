// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "bert_encoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <hocket/detail/assert.hpp>
#include <hocket/error.hpp>
#include <system_error>

namespace embed {
namespace {

// As the names of the tensors say: the number of the last layer and one more.
std::size_t layers_held(safetensors_file const& file) {
  constexpr std::string_view prefix = "encoder.layer.";
  std::size_t held = 0;
  for (auto const& [name, tensor] : file.tensors()) {
    if (!name.starts_with(prefix)) continue;
    std::uint32_t layer = 0;
    char const* const end = name.data() + name.size();
    if (std::from_chars(name.data() + prefix.size(), end, layer).ec == std::errc())
      held = std::max(held, std::size_t{layer} + 1);
  }
  return held;
}

}  // namespace

bert_model::bert_model(std::filesystem::path const& directory)
    : config_(read_bert_config(directory)),
      tokeniser_(directory / "vocab.txt"),
      file_(std::make_shared<safetensors_file const>(directory / "model.safetensors")) {
  if (tokeniser_.size() > config_.vocabulary)
    throw hocket::error(hocket::errc::corrupt,
                        fmt::format("{}: {} pieces in vocab.txt, {} word vectors in the model",
                                    directory.string(), tokeniser_.size(), config_.vocabulary));
  // Without this, a model of too few layers would run, and compute something else.
  if (auto const held = layers_held(*file_); held != config_.layers)
    throw hocket::error(hocket::errc::corrupt,
                        fmt::format("{}: num_hidden_layers is {} in config.json, but "
                                    "model.safetensors holds {} layers",
                                    directory.string(), config_.layers, held));
}

void layer_scratch::fit(bert_config const& config, attention_shape const& shape) {
  std::size_t const width = shape.rows * config.hidden;
  query.resize(width);
  scores.resize(shape.scores());
  mixed.resize(width);
  dense.resize(width);
  wide.resize(shape.rows * config.intermediate);
}

attention_shape shape_of(bert_config const& config, std::size_t rows, std::size_t length) noexcept {
  return {config.heads, config.head_width(), rows, length};
}

void embed_tokens(embedding_weights const& weights, bert_config const& config,
                  std::span<token_id const> ids, std::size_t first_position, std::span<float> out) {
  std::size_t const hidden = config.hidden;
  HOCKET_ASSERT(out.size() == ids.size() * hidden);
  if (first_position > config.positions || ids.size() > config.positions - first_position)
    throw hocket::error(hocket::errc::invalid_argument,
                        fmt::format("{} tokens from position {} on; the model has {} positions",
                                    ids.size(), first_position, config.positions));
  std::span<float const> const first_type = weights.types.first(hidden);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || static_cast<std::size_t>(ids[i]) >= config.vocabulary)
      throw hocket::error(hocket::errc::invalid_argument,
                          fmt::format("token {} at position {}; the model has {} word vectors",
                                      ids[i], first_position + i, config.vocabulary));
    std::size_t const word = static_cast<std::size_t>(ids[i]) * hidden;
    std::size_t const position = (first_position + i) * hidden;
    std::span<float> const row = out.subspan(i * hidden, hidden);
    for (std::size_t j = 0; j < hidden; ++j)
      row[j] = weights.words[word + j] + weights.positions[position + j] + first_type[j];
  }
  apply_norm(weights.norm, config.layer_norm_eps, out);
}

void attend_keys(attention_shape const& shape, std::span<float const> all_keys,
                 layer_scratch& scratch) {
  score_keys(shape, scratch.query, all_keys, scratch.scores);
}

// Both halves end in the residual and a norm: x = norm(x + f(x)).
void attend_values(layer_weights const& layer, bert_config const& config,
                   attention_shape const& shape, std::span<float const> all_values,
                   std::span<float> x, layer_scratch& scratch) {
  mix_values(shape, scratch.scores, all_values, scratch.mixed);
  apply_linear(layer.attention_out, scratch.mixed, scratch.dense);
  add_to(x, scratch.dense);
  apply_norm(layer.attention_norm, config.layer_norm_eps, x);

  apply_linear(layer.up, x, scratch.wide);
  apply_gelu(scratch.wide);
  apply_linear(layer.down, scratch.wide, scratch.dense);
  add_to(x, scratch.dense);
  apply_norm(layer.output_norm, config.layer_norm_eps, x);
}

}  // namespace embed
