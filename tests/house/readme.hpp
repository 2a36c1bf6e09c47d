// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <filesystem>

#include "source_tree.hpp"

namespace house {

/// Checks that the code of README.md is code that is compiled: a ```cpp block stands after a line
/// `<!-- from: examples/FILE.cpp NAME -->` and equals the lines of that file between two lines
/// `// [NAME]`. A block without such a line, or a file that is missing, is a finding.
[[nodiscard]] findings check_readme(std::filesystem::path const& root);

}  // namespace house
