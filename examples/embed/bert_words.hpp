// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace embed {

/// The words of a UTF-8 text as BERT's uncased models see them: control characters dropped, white
/// space split at, CJK ideographs and punctuation marks words of their own, accents stripped
/// (canonical decomposition, then without non-spacing marks), lower case letter by letter.
/// Ill-formed UTF-8 counts as U+FFFD, which is dropped. Any thread.
[[nodiscard]] std::vector<std::string> bert_words(std::string_view text);

/// The number of code points of a well-formed UTF-8 text.
[[nodiscard]] std::size_t count_code_points(std::string_view text) noexcept;

/// The offset of the first byte that is not well-formed UTF-8; `npos` if there is none.
[[nodiscard]] std::size_t find_ill_formed_utf8(std::string_view text) noexcept;

}  // namespace embed
