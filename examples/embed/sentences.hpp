// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace embed {

/// The sentences of a text: one a line, an empty line is an empty sentence. Lines end in LF or CR
/// LF; the last one need not. A byte order mark at the start is no part of the text. `origin` names
/// the text in errors. Throws `errc::corrupt` with line and byte for ill-formed UTF-8.
[[nodiscard]] std::vector<std::string> split_sentences(std::string_view text,
                                                       std::string_view origin);

/// The sentences of a file, "-" for standard input. Throws a system code if it cannot be read.
[[nodiscard]] std::vector<std::string> read_sentences(std::string const& file);

}  // namespace embed
