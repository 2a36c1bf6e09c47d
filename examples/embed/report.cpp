// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <hocket/error.hpp>
#include <numeric>

namespace embed {

std::string json_line(std::string_view text, std::span<float const> embedding) {
  if (!std::ranges::all_of(embedding, [](float v) { return std::isfinite(v); }))
    throw hocket::error(hocket::errc::corrupt,
                        fmt::format("the embedding of \"{}\" is not finite: the model's weights "
                                    "are damaged",
                                    text));
  boost::json::value const quoted = boost::json::string(boost::json::string_view(text));
  return fmt::format("{{\"text\":{},\"embedding\":[{}]}}", boost::json::serialize(quoted),
                     fmt::join(embedding, ","));
}

std::vector<neighbour_pair> closest_pairs(std::span<std::vector<float> const> embeddings,
                                          std::size_t pairs_max) {
  // A heap of the best so far, the worst of them on top: memory is the answer's, not n squared.
  auto const is_closer = [](neighbour_pair const& a, neighbour_pair const& b) {
    if (a.similarity != b.similarity) return a.similarity > b.similarity;
    return a.first != b.first ? a.first < b.first : a.second < b.second;
  };
  std::vector<neighbour_pair> best;
  if (pairs_max == 0) return best;
  for (std::size_t i = 0; i < embeddings.size(); ++i) {
    for (std::size_t j = i + 1; j < embeddings.size(); ++j) {
      float const similarity = std::inner_product(embeddings[i].begin(), embeddings[i].end(),
                                                  embeddings[j].begin(), 0.0F);
      neighbour_pair const pair = {i, j, similarity};
      if (best.size() == pairs_max) {
        if (!is_closer(pair, best.front())) continue;
        std::pop_heap(best.begin(), best.end(), is_closer);
        best.pop_back();
      }
      best.push_back(pair);
      std::push_heap(best.begin(), best.end(), is_closer);
    }
  }
  std::sort_heap(best.begin(), best.end(), is_closer);
  return best;
}

}  // namespace embed
