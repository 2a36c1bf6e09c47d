// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <filesystem>

namespace embed {

/// The sizes of a BERT encoder, from a model directory's `config.json`, and how it is used, from
/// the `sentence_bert_config.json` beside it.
struct bert_config {
  std::size_t hidden = 0;  ///< width of a token's vector
  std::size_t layers = 0;
  std::size_t heads = 0;         ///< divides `hidden`
  std::size_t intermediate = 0;  ///< width inside the feed-forward part
  std::size_t positions = 0;     ///< the longest sequence that has position vectors
  std::size_t vocabulary = 0;
  std::size_t token_types = 0;
  float layer_norm_eps = 0;
  std::size_t tokens_max = 0;  ///< where sentences are cut, [CLS] and [SEP] included

  [[nodiscard]] std::size_t head_width() const noexcept { return hidden / heads; }
};

/// Reads and checks the configuration. `tokens_max` is `max_seq_length`, or without that file the
/// number of positions, as sentence-transformers has it. Throws `hocket::error`: a system code if
/// `config.json` cannot be read, `errc::corrupt` for a missing or impossible size,
/// `errc::unsupported` for anything but an uncased BERT encoder with exact GELU, absolute positions
/// and mean pooling.
[[nodiscard]] bert_config read_bert_config(std::filesystem::path const& model_directory);

}  // namespace embed
