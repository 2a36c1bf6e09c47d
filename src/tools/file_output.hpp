// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <optional>
#include <string>

namespace hocket::tools {

/// Where an option's output goes: a file, or standard output if it is named "-".
class file_output {
 public:
  /// `option` is the one that names the file. An empty name is `errc::invalid_argument`.
  file_output(std::string option, std::string path);

  [[nodiscard]] bool is_standard() const noexcept { return path_ == "-"; }
  /// The option and its value, as in "--svg -".
  [[nodiscard]] std::string given() const { return option_ + " " + path_; }
  /// Writes the whole file, or to standard output. A failure has the system's code.
  void write(std::string const& text) const;
  /// Says on standard output that the file is written, unless it is standard output.
  void confirm() const;

 private:
  std::string option_;
  std::string path_;
};

/// None if the option was not given.
[[nodiscard]] std::optional<file_output> output_of(std::string option,
                                                   std::optional<std::string> const& path);

/// Refuses two outputs that would mix on standard output, `--json` among them.
void check_outputs(bool json, std::optional<file_output> const& one,
                   std::optional<file_output> const& other = std::nullopt);

}  // namespace hocket::tools
