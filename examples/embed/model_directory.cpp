// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "model_directory.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace embed {
namespace {

// An empty variable counts as unset.
std::filesystem::path from_environment(char const* name) {
  char const* const value = std::getenv(name);
  return value == nullptr ? std::filesystem::path() : std::filesystem::path(value);
}

}  // namespace

std::filesystem::path model_directory() {
  if (auto given = from_environment("HOCKET_EMBED_MODEL"); !given.empty()) return given;
  std::filesystem::path cache = from_environment("XDG_CACHE_HOME");
  if (cache.empty()) cache = from_environment("HOME") / ".cache";
  return cache / "hocket" / "all-MiniLM-L6-v2";
}

bool has_model(std::filesystem::path const& directory) {
  constexpr std::array files = {"config.json", "vocab.txt", "model.safetensors"};
  return std::all_of(files.begin(), files.end(), [&directory](char const* file) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(directory / file, ignored);
  });
}

}  // namespace embed
