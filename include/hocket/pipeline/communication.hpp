// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/pipeline/schedule.hpp>

namespace hocket {

/// The schedule with the sends and receives it needs: each send right behind the action that makes
/// what it sends, each receive right before the action that needs it. Stages of one rank exchange
/// nothing. A schedule that has communication comes back as it is.
[[nodiscard]] schedule with_communication(schedule plan);

/// The schedule without its sends and receives.
[[nodiscard]] schedule without_communication(schedule const& plan);

}  // namespace hocket
