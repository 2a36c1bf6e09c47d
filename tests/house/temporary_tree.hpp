// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "source_tree.hpp"

namespace house {

/// A folder with planted files; removed at the end of the scope.
class temporary_tree {
 public:
  temporary_tree() {
    auto pattern = (std::filesystem::temp_directory_path() / "hocket-house-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw std::filesystem::filesystem_error(pattern, {});
    root_ = pattern;
  }
  temporary_tree(temporary_tree const&) = delete;
  temporary_tree& operator=(temporary_tree const&) = delete;
  ~temporary_tree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  void plant(std::string_view path, std::string_view text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  [[nodiscard]] std::filesystem::path const& root() const { return root_; }

 private:
  std::filesystem::path root_;
};

/// Whether a finding is about `path` and says `why`.
inline bool mentions(findings const& found, std::string_view path, std::string_view why) {
  return std::any_of(found.begin(), found.end(), [&](std::string const& line) {
    return line.starts_with(path) && line.find(why) != std::string::npos;
  });
}

}  // namespace house
