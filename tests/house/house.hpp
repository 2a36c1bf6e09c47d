// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <filesystem>

#include "source_tree.hpp"

namespace house {

/// Names at the top level of the repository that do not belong there.
[[nodiscard]] findings check_top_level(std::filesystem::path const& root);

/// What a file of sources must hold to: licence header, length, width, run bit, and no word that
/// means something on one machine or for one person only.
[[nodiscard]] findings check_text(std::filesystem::path const& root);

}  // namespace house
