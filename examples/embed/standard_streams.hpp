// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <string_view>

namespace embed {

/// Opens what is closed of the standard streams, so that no file or socket opened later takes its
/// place: reading finds nothing there, writing fails. Called first of all.
void open_standard_streams();

/// Writes to standard output. Throws the code of the write that failed.
void write_output(std::string_view text);
/// Writes what is still buffered. Throws likewise.
void flush_output();

/// Writes to standard error; there is nobody to tell when that fails.
void complain(std::string_view text) noexcept;

/// From now on the first SIGINT or SIGTERM is only remembered, so that no line of the output is
/// cut; a second one ends the process as ever. A signal that is ignored stays ignored.
void remember_signals() noexcept;
/// The signal that came, 0 if none did. Any thread.
[[nodiscard]] int remembered_signal() noexcept;

}  // namespace embed
