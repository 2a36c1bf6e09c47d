// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "bert_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <hocket/error.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "files.hpp"

namespace embed {
namespace {

// One JSON file of settings that names itself in every error.
class settings {
 public:
  explicit settings(std::filesystem::path path)
      : path_(std::move(path)), values_(read_json_object(path_)) {}

  // Sizes are bounded so that no product of two of them overflows.
  [[nodiscard]] std::size_t size(std::string_view key) const {
    constexpr std::int64_t size_max = 1 << 24;
    boost::json::value const* const value = values_.if_contains(key);
    std::int64_t n = 0;
    if (value == nullptr || !read_count(*value, n) || n < 1 || n > size_max)
      throw hocket::error(hocket::errc::corrupt, fmt::format("{}: {} is not a size in [1, {}]",
                                                             path_.string(), key, size_max));
    return static_cast<std::size_t>(n);
  }

  [[nodiscard]] float fraction(std::string_view key) const {
    boost::json::value const* const value = values_.if_contains(key);
    double const x = value != nullptr && value->is_number() ? value->to_number<double>() : -1;
    if (!(x >= 0 && x < 1))
      throw hocket::error(hocket::errc::corrupt,
                          fmt::format("{}: {} is not a number in [0, 1)", path_.string(), key));
    return static_cast<float>(x);
  }

  [[nodiscard]] bool has(std::string_view key) const { return values_.contains(key); }

  // An absent key means the wanted value.
  void require(std::string_view key, boost::json::value const& wanted) const {
    boost::json::value const* const value = values_.if_contains(key);
    if (value == nullptr || *value == wanted) return;
    throw hocket::error(
        hocket::errc::unsupported,
        fmt::format("{}: {} is {}; only {} is read", path_.string(), key,
                    boost::json::serialize(*value), boost::json::serialize(wanted)));
  }

 private:
  std::filesystem::path path_;
  boost::json::object values_;
};

}  // namespace

bert_config read_bert_config(std::filesystem::path const& model_directory) {
  settings const encoder(model_directory / "config.json");
  encoder.require("model_type", "bert");
  encoder.require("hidden_act", "gelu");
  encoder.require("position_embedding_type", "absolute");
  bert_config config;
  config.hidden = encoder.size("hidden_size");
  config.layers = encoder.size("num_hidden_layers");
  config.heads = encoder.size("num_attention_heads");
  config.intermediate = encoder.size("intermediate_size");
  config.positions = encoder.size("max_position_embeddings");
  config.vocabulary = encoder.size("vocab_size");
  config.token_types = encoder.size("type_vocab_size");
  config.layer_norm_eps = encoder.fraction("layer_norm_eps");
  if (config.hidden % config.heads != 0)
    throw hocket::error(
        hocket::errc::corrupt,
        fmt::format("{}: hidden_size {} does not divide into {} heads",
                    (model_directory / "config.json").string(), config.hidden, config.heads));
  config.tokens_max = config.positions;
  std::filesystem::path const sentence_file = model_directory / "sentence_bert_config.json";
  if (std::filesystem::exists(sentence_file)) {
    settings const sentences(sentence_file);
    if (sentences.has("max_seq_length"))
      config.tokens_max = std::min(config.positions, sentences.size("max_seq_length"));
  }
  std::filesystem::path const tokenizer_file = model_directory / "tokenizer_config.json";
  if (std::filesystem::exists(tokenizer_file))
    settings(tokenizer_file).require("do_lower_case", true);
  std::filesystem::path const pooling_file = model_directory / "1_Pooling" / "config.json";
  if (std::filesystem::exists(pooling_file)) {
    settings const pooling(pooling_file);
    pooling.require("pooling_mode_mean_tokens", true);
    pooling.require("pooling_mode_cls_token", false);
    pooling.require("pooling_mode_max_tokens", false);
  }
  return config;
}

}  // namespace embed
