// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/pipeline/schedule.hpp>
#include <vector>

namespace hocket {

/// Proves that a schedule can be run to its end, or throws `errc::invalid_argument` with the
/// actions that stand against it.
///
/// What is proved: each stage runs F once for each microbatch, and if there is a backward pass,
/// either B or I and W; no action is there twice; each action comes after those whose results it
/// needs; and no rank waits for ever. If the schedule has communication, each message that crosses
/// ranks has its send and its receive, and there are no others. A send waits for nobody, a receive
/// holds its rank until the send has been done. User-defined actions are ordered as they stand and
/// need nothing.
void check(schedule const& plan);

/// The most microbatches, for each stage, whose forward has been run and whose B or W has not: so
/// many activations the stage keeps. 1 for a stage that runs no backward. The schedule must pass
/// `check`.
[[nodiscard]] std::vector<int> peak_activations(schedule const& plan);

}  // namespace hocket
