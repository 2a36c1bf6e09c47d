// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace embed {

/// `{"text":"…","embedding":[…]}` without a line end; the floats read back to the same bits.
/// `text` is well-formed UTF-8.
[[nodiscard]] std::string json_line(std::string_view text, std::span<float const> embedding);

struct neighbour_pair {
  std::size_t first = 0;
  std::size_t second = 0;
  float similarity = 0;  ///< cosine
};

/// The `pairs_max` closest pairs of unit vectors, closest first; equal ones in the order of the
/// vectors. All vectors have one width.
[[nodiscard]] std::vector<neighbour_pair> closest_pairs(
    std::span<std::vector<float> const> embeddings, std::size_t pairs_max);

}  // namespace embed
