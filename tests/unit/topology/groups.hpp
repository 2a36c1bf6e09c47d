// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/json.hpp>
#include <hocket/topology/rank_group.hpp>
#include <vector>

namespace hocket::test {

using rank_lists = std::vector<std::vector<int>>;

inline std::vector<int> plain(rank_group const& group) {
  std::vector<int> out;
  for (auto const r : group) out.push_back(r.value());
  return out;
}

inline rank_lists plain(std::vector<rank_group> const& groups) {
  rank_lists out;
  for (auto const& g : groups) out.push_back(plain(g));
  return out;
}

/// The group lists of a golden file, shifted by `offset`.
inline rank_lists from_json(boost::json::value const& lists, int offset = 0) {
  auto out = boost::json::value_to<rank_lists>(lists);
  for (auto& list : out)
    for (auto& rank : list) rank += offset;
  return out;
}

}  // namespace hocket::test
