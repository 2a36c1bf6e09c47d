// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hocket::tools {

/// Where a rank stands in a job. Ranks are numbered node by node.
struct rank_place {
  int rank = 0;
  int world = 1;
  std::string job;                 ///< of this job only
  std::uint16_t port = 0;          ///< of the job's store
  int secret = -1;                 ///< inherited descriptor of the job's secret
  std::string host = "127.0.0.1";  ///< of the job's store
  int nodes = 1;                   ///< each with as many ranks
};

/// The environment of a rank as "NAME=value": what is inherited, with the variables that torchrun
/// sets, HOCKET_JOB_ID and HOCKET_SECRET_* replaced, so that those of an outer job do not leak in.
[[nodiscard]] std::vector<std::string> rank_environment(std::span<std::string const> inherited,
                                                        rank_place const& place);

}  // namespace hocket::tools
