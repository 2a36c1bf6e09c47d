// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "rank_environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace hocket::tools {
namespace {

// "Environment Variables" in PyTorch's documentation of torchrun, and what its env:// rendezvous
// reads. A host is a group there. The agent is the launcher: every rank is a client of its store.
std::vector<std::pair<std::string, std::string>> variables(rank_place const& place) {
  auto const rank = std::to_string(place.rank);
  auto const world = std::to_string(place.world);
  int const here = place.world / place.nodes;
  return {{"RANK", rank},
          {"LOCAL_RANK", std::to_string(place.rank % here)},
          {"ROLE_RANK", rank},
          {"GROUP_RANK", std::to_string(place.rank / here)},
          {"WORLD_SIZE", world},
          {"LOCAL_WORLD_SIZE", std::to_string(here)},
          {"ROLE_WORLD_SIZE", world},
          {"GROUP_WORLD_SIZE", std::to_string(place.nodes)},
          {"ROLE_NAME", "default"},
          {"MASTER_ADDR", place.host},
          {"MASTER_PORT", std::to_string(place.port)},
          {"TORCHELASTIC_RESTART_COUNT", "0"},
          {"TORCHELASTIC_MAX_RESTARTS", "0"},
          {"TORCHELASTIC_RUN_ID", place.job},
          {"TORCHELASTIC_USE_AGENT_STORE", "True"},
          {"HOCKET_JOB_ID", place.job},
          {"HOCKET_SECRET_FD", std::to_string(place.secret)}};
}

}  // namespace

std::vector<std::string> rank_environment(std::span<std::string const> inherited,
                                          rank_place const& place) {
  auto const ours = variables(place);
  std::vector<std::string> all;
  for (auto const& entry : inherited) {
    auto const name = entry.substr(0, entry.find('='));
    bool const is_ours = std::ranges::any_of(ours, [&](auto const& v) { return v.first == name; });
    if (!is_ours && name != "HOCKET_SECRET_FILE") all.push_back(entry);
  }
  for (auto const& [name, value] : ours) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

}  // namespace hocket::tools
