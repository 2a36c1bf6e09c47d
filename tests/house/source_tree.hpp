// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace house {

/// A text file of the repository.
struct source_file {
  std::string path;                ///< relative to the root, with '/'
  std::vector<std::string> lines;  ///< without line ends
  bool is_executable = false;

  [[nodiscard]] bool is_cpp() const;     ///< .cpp, .hpp, .cu or .cuh
  [[nodiscard]] bool is_script() const;  ///< starts with "#!"
};

/// Something the rules do not allow: "src/io/ring.cpp:12: why".
using findings = std::vector<std::string>;

/// The text files below `folder` of `root`, sorted by path; none if the folder does not exist.
[[nodiscard]] std::vector<source_file> read_folder(std::filesystem::path const& root,
                                                   std::string_view folder);

/// The text files of the repository: its folders, and its top level without the build trees.
[[nodiscard]] std::vector<source_file> read_repository(std::filesystem::path const& root);

/// Whether the top level ignores this name: a build tree, an editor's or the user's own file.
[[nodiscard]] bool is_local(std::string_view top_level_name);

}  // namespace house
