// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <filesystem>

#include "source_tree.hpp"

namespace house {

/// Checks every include of `root`/include and `root`/src against the layer table.
[[nodiscard]] findings check_layers(std::filesystem::path const& root);

}  // namespace house
