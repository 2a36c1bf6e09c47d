// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace embed {

/// Sizes of a model with the architecture of the real one and weights out of a seeded generator.
/// Its vectors mean nothing; that they are the same on every set of ranks does.
struct tiny_model_options {
  std::size_t hidden = 24;
  std::size_t layers = 4;
  std::size_t heads = 3;
  std::size_t intermediate = 56;
  std::size_t positions = 512;
  std::size_t tokens_max = 256;
  std::uint64_t seed = 1;
};

/// Writes the model's files into a directory, which is made if need be. The vocabulary covers all
/// printable ASCII: single characters, inside and at the start of a word, and some common pieces.
/// The same options give the same bytes everywhere. Throws `hocket::error`: the system's code if a
/// file cannot be written, `errc::invalid_argument` for sizes that make no model.
void write_tiny_model(std::filesystem::path const& directory, tiny_model_options const& options);

}  // namespace embed
