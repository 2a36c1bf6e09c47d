// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <filesystem>

namespace embed {

/// Where the model is looked for: $HOCKET_EMBED_MODEL if set, else
/// ${XDG_CACHE_HOME:-~/.cache}/hocket/all-MiniLM-L6-v2, where get_model.sh puts it.
[[nodiscard]] std::filesystem::path model_directory();

/// Whether the files that `bert_model` reads are in this directory.
[[nodiscard]] bool has_model(std::filesystem::path const& directory);

}  // namespace embed
