// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/pipeline/prediction.hpp>
#include <hocket/pipeline/schedule.hpp>
#include <string>

namespace hocket::tools {

/// A picture of a schedule's run: a row for each rank, time to the right, a box for each action
/// with its microbatch's number, coloured by what is done and shaded by which of the rank's stages
/// does it; waiting is hatched. More than 256 ranks or 50,000 boxes are `errc::invalid_argument`:
/// nobody could read them.
[[nodiscard]] std::string draw_schedule(schedule const& plan, prediction const& run);

}  // namespace hocket::tools
