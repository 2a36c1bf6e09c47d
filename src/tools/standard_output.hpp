// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/error.hpp>
#include <string>
#include <string_view>

namespace hocket::tools {

/// Standard output that cannot be written. It has the code of the write; main tells it on standard
/// error, with --json too.
class output_error : public error {
 public:
  using error::error;
};

/// Opens what is closed of the standard streams, so that no file opened later takes its place:
/// reading finds nothing there, writing fails. Called first of all.
void open_standard_streams();

/// Writes to standard output, in pieces as large as stdio's buffer. Throws `output_error`.
void put(std::string_view text);
/// Writes what is still buffered. Throws `output_error`.
void flush_output();

/// Writes to standard error; there is nobody to tell when that fails.
void complain(std::string_view text) noexcept;

/// The text with U+FFFD in place of each byte that is not part of well-formed UTF-8: JSON may hold
/// nothing else, and arguments and file names may be any bytes.
[[nodiscard]] std::string as_utf8(std::string_view text);

}  // namespace hocket::tools
