// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "bert_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <hocket/error.hpp>
#include <string>
#include <utility>

namespace embed {
namespace {

// Names of tensors as the BERT checkpoints spell them.
class weight_reader {
 public:
  explicit weight_reader(safetensors_file const& file) : file_(file) {}

  [[nodiscard]] std::span<float const> matrix(std::string const& name, std::size_t rows,
                                              std::size_t columns) const {
    std::array const shape = {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
    return file_.f32(name, shape);
  }

  [[nodiscard]] linear_weights linear(std::string const& name, std::size_t outputs,
                                      std::size_t inputs) const {
    return {matrix(name + ".weight", outputs, inputs), vector(name + ".bias", outputs)};
  }

  [[nodiscard]] norm_weights norm(std::string const& name, std::size_t width) const {
    return {vector(name + ".weight", width), vector(name + ".bias", width)};
  }

 private:
  [[nodiscard]] std::span<float const> vector(std::string const& name, std::size_t n) const {
    std::array const shape = {static_cast<std::int64_t>(n)};
    return file_.f32(name, shape);
  }

  safetensors_file const& file_;
};

layer_weights read_layer(weight_reader const& read, bert_config const& config, std::size_t index) {
  std::size_t const hidden = config.hidden;
  std::string const at = fmt::format("encoder.layer.{}.", index);
  layer_weights layer;
  layer.query = read.linear(at + "attention.self.query", hidden, hidden);
  layer.key = read.linear(at + "attention.self.key", hidden, hidden);
  layer.value = read.linear(at + "attention.self.value", hidden, hidden);
  layer.attention_out = read.linear(at + "attention.output.dense", hidden, hidden);
  layer.attention_norm = read.norm(at + "attention.output.LayerNorm", hidden);
  layer.up = read.linear(at + "intermediate.dense", config.intermediate, hidden);
  layer.down = read.linear(at + "output.dense", hidden, config.intermediate);
  layer.output_norm = read.norm(at + "output.LayerNorm", hidden);
  return layer;
}

}  // namespace

layer_range layers_of_stage(std::size_t layers, std::size_t stages, std::size_t stage) {
  if (stage >= stages || stages > layers)
    throw hocket::error(hocket::errc::invalid_argument,
                        fmt::format("stage {} of {} over {} layers: every stage needs a layer",
                                    stage, stages, layers));
  std::size_t const share = layers / stages;
  std::size_t const longer = layers % stages;
  std::size_t const first = stage * share + std::min(stage, longer);
  return {first, first + share + (stage < longer ? 1 : 0)};
}

bert_weights::bert_weights(std::shared_ptr<safetensors_file const> file, bert_config const& config,
                           layer_range layers)
    : file_(std::move(file)) {
  if (layers.first > layers.last || layers.last > config.layers)
    throw hocket::error(
        hocket::errc::invalid_argument,
        fmt::format("layers [{}, {}) of a model of {}", layers.first, layers.last, config.layers));
  weight_reader const read(*file_);
  embeddings_.words =
      read.matrix("embeddings.word_embeddings.weight", config.vocabulary, config.hidden);
  embeddings_.positions =
      read.matrix("embeddings.position_embeddings.weight", config.positions, config.hidden);
  embeddings_.types =
      read.matrix("embeddings.token_type_embeddings.weight", config.token_types, config.hidden);
  embeddings_.norm = read.norm("embeddings.LayerNorm", config.hidden);
  for (std::size_t i = layers.first; i < layers.last; ++i)
    layers_.push_back(read_layer(read, config, i));
}

}  // namespace embed
