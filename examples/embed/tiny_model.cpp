// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "tiny_model.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <fstream>
#include <hocket/error.hpp>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace embed {
namespace {

namespace json = boost::json;

void write_file(std::filesystem::path const& path, std::string_view content) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) {
    boost::system::error_code const code(errno, boost::system::system_category());
    throw hocket::error(code, fmt::format("cannot write {} bytes to {}: {}", content.size(),
                                          path.string(), code.message()));
  }
}

std::vector<std::string> tiny_vocabulary() {
  std::vector<std::string> pieces = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  for (char c = '!'; c <= '~'; ++c) {
    bool const is_upper = c >= 'A' && c <= 'Z';
    if (!is_upper) pieces.emplace_back(1, c);
  }
  for (char c = 'a'; c <= 'z'; ++c) pieces.push_back(std::string("##") + c);
  for (char c = '0'; c <= '9'; ++c) pieces.push_back(std::string("##") + c);
  constexpr std::array<std::string_view, 23> common = {
      "the",  "and",    "of",   "in",   "is",   "to",   "it",    "on",
      "an",   "at",     "re",   "un",   "##ed", "##er", "##ing", "##ly",
      "##th", "##tion", "##en", "##al", "##st", "##nd", "##le"};
  pieces.insert(pieces.end(), common.begin(), common.end());
  return pieces;
}

std::string lines_of(std::span<std::string const> pieces) {
  std::string text;
  for (std::string const& piece : pieces) text.append(piece).append("\n");
  return text;
}

// The distributions of the standard library differ from house to house; the engine does not.
class weight_source {
 public:
  explicit weight_source(std::uint64_t seed) : engine_(seed) {}

  // Uniform in [centre - reach, centre + reach).
  [[nodiscard]] float next(float centre, float reach) {
    constexpr double steps = 1 << 23;
    auto const unit = static_cast<double>(engine_() >> 41U) / steps;
    return static_cast<float>(static_cast<double>(centre) +
                              static_cast<double>(reach) * (2 * unit - 1));
  }

 private:
  std::mt19937_64 engine_;
};

// The header and the data of a safetensors file under construction.
class tensor_writer {
 public:
  explicit tensor_writer(std::uint64_t seed) : source_(seed) {}

  void add(std::string const& name, std::span<std::size_t const> shape, float centre, float reach) {
    std::size_t count = 1;
    json::array dimensions;
    for (std::size_t const n : shape) {
      count *= n;
      dimensions.emplace_back(n);
    }
    std::size_t const begin = values_.size() * sizeof(float);
    for (std::size_t i = 0; i < count; ++i) values_.push_back(source_.next(centre, reach));
    json::object entry;
    entry["dtype"] = "F32";
    entry["shape"] = std::move(dimensions);
    entry["data_offsets"] = json::array{begin, values_.size() * sizeof(float)};
    header_[name] = std::move(entry);
  }

  void add_linear(std::string const& name, std::size_t outputs, std::size_t inputs) {
    std::array const matrix = {outputs, inputs};
    std::array const vector = {outputs};
    add(name + ".weight", matrix, 0, 0.35F);
    add(name + ".bias", vector, 0, 0.1F);
  }

  void add_norm(std::string const& name, std::size_t width) {
    std::array const vector = {width};
    add(name + ".weight", vector, 1, 0.3F);
    add(name + ".bias", vector, 0, 0.2F);
  }

  // Spaces after the header keep the data aligned, as the format allows.
  [[nodiscard]] std::string file() const {
    std::string header = json::serialize(header_);
    header.resize((header.size() + 7) / 8 * 8, ' ');
    std::uint64_t const length = header.size();
    std::string bytes(reinterpret_cast<char const*>(&length), sizeof length);
    bytes += header;
    bytes.append(reinterpret_cast<char const*>(values_.data()), values_.size() * sizeof(float));
    return bytes;
  }

 private:
  weight_source source_;
  json::object header_;
  std::vector<float> values_;
};

std::string tiny_weights(tiny_model_options const& options, std::size_t vocabulary) {
  std::size_t const hidden = options.hidden;
  tensor_writer out(options.seed);
  std::array const words = {vocabulary, hidden};
  std::array const positions = {options.positions, hidden};
  std::array const types = {std::size_t{2}, hidden};
  out.add("embeddings.word_embeddings.weight", words, 0, 1);
  out.add("embeddings.position_embeddings.weight", positions, 0, 0.3F);
  out.add("embeddings.token_type_embeddings.weight", types, 0, 0.1F);
  out.add_norm("embeddings.LayerNorm", hidden);
  for (std::size_t i = 0; i < options.layers; ++i) {
    std::string const at = fmt::format("encoder.layer.{}.", i);
    for (char const* const role : {"query", "key", "value"})
      out.add_linear(at + "attention.self." + role, hidden, hidden);
    out.add_linear(at + "attention.output.dense", hidden, hidden);
    out.add_norm(at + "attention.output.LayerNorm", hidden);
    out.add_linear(at + "intermediate.dense", options.intermediate, hidden);
    out.add_linear(at + "output.dense", hidden, options.intermediate);
    out.add_norm(at + "output.LayerNorm", hidden);
  }
  return out.file();
}

std::string config_text(tiny_model_options const& options, std::size_t vocabulary) {
  json::object config;
  config["model_type"] = "bert";
  config["hidden_act"] = "gelu";
  config["position_embedding_type"] = "absolute";
  config["hidden_size"] = options.hidden;
  config["num_hidden_layers"] = options.layers;
  config["num_attention_heads"] = options.heads;
  config["intermediate_size"] = options.intermediate;
  config["max_position_embeddings"] = options.positions;
  config["vocab_size"] = vocabulary;
  config["type_vocab_size"] = 2;
  config["layer_norm_eps"] = 1e-12;
  return json::serialize(config);
}

}  // namespace

void write_tiny_model(std::filesystem::path const& directory, tiny_model_options const& options) {
  if (options.hidden < 1 || options.layers < 1 || options.heads < 1 || options.intermediate < 1 ||
      options.hidden % options.heads != 0 || options.tokens_max < 2 ||
      options.tokens_max > options.positions)
    throw hocket::error(
        hocket::errc::invalid_argument,
        fmt::format("hidden {} in {} heads, {} layers, intermediate {}, {} tokens of {} positions "
                    "make no model",
                    options.hidden, options.heads, options.layers, options.intermediate,
                    options.tokens_max, options.positions));
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure)
    throw hocket::error(failure, fmt::format("cannot make the directory {}: {}", directory.string(),
                                             failure.message()));
  std::vector<std::string> const pieces = tiny_vocabulary();
  write_file(directory / "vocab.txt", lines_of(pieces));
  write_file(directory / "config.json", config_text(options, pieces.size()));
  write_file(directory / "sentence_bert_config.json",
             fmt::format("{{\"max_seq_length\":{}}}", options.tokens_max));
  write_file(directory / "tokenizer_config.json", "{\"do_lower_case\":true}");
  write_file(directory / "model.safetensors", tiny_weights(options, pieces.size()));
}

}  // namespace embed
