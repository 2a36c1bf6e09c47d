// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/pipeline/prediction.hpp>
#include <hocket/pipeline/schedule.hpp>
#include <string>

namespace hocket::tools {

/// "rank 2: stage 2", "rank 0: stages 0, 7".
[[nodiscard]] std::string rank_text(schedule const& plan, int rank);

/// A number as a person writes it: at most `digits` places, no trailing zeros.
[[nodiscard]] std::string short_number(double value, int digits = 2);

/// A line for each rank, time to the right, as text. Empty if times are no whole numbers or the
/// lines would be longer than a wide terminal.
[[nodiscard]] std::string chart_text(schedule const& plan, prediction const& run);

}  // namespace hocket::tools
