// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace embed {

using token_id = std::int32_t;

/// BERT's WordPiece tokeniser (uncased) over a model's `vocab.txt`: one piece a line, the line's
/// number from zero is its id. Immutable after construction; any number of threads.
class wordpiece {
 public:
  /// A word of more code points than this is one unknown token.
  static constexpr std::size_t word_code_points_max = 100;

  /// Reads the vocabulary. Throws `hocket::error`: a system code if the file cannot be read,
  /// `errc::corrupt` with the line for a piece that comes twice or a missing special token.
  explicit wordpiece(std::filesystem::path const& vocab_file);

  /// The ids of `text` between [CLS] and [SEP], cut to `tokens_max` ids in all: the tail goes, the
  /// [SEP] stays. The literal names of the five special tokens stand for those tokens anywhere in
  /// the text, as in the reference tokenisers. Throws `errc::invalid_argument` if `tokens_max < 2`.
  [[nodiscard]] std::vector<token_id> encode(std::string_view text, std::size_t tokens_max) const;

  /// The piece of an id. Throws `errc::invalid_argument` for an id outside the vocabulary.
  [[nodiscard]] std::string_view piece(token_id id) const;

  [[nodiscard]] std::size_t size() const noexcept { return pieces_.size(); }
  [[nodiscard]] token_id unknown_id() const noexcept { return special_ids_[1]; }
  [[nodiscard]] token_id first_id() const noexcept { return special_ids_[2]; }
  [[nodiscard]] token_id last_id() const noexcept { return special_ids_[3]; }

 private:
  struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const noexcept {
      return std::hash<std::string_view>()(s);
    }
  };

  void append_word(std::string_view word, std::vector<token_id>& ids) const;
  void append_text(std::string_view text, std::size_t ids_max, std::vector<token_id>& ids) const;

  std::vector<std::string> pieces_;
  std::unordered_map<std::string, token_id, text_hash, std::equal_to<>> ids_;
  std::array<token_id, 5> special_ids_ = {};  // in the order of the names in the .cpp
};

}  // namespace embed
