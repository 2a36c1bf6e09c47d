// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/pipeline/schedule.hpp>
#include <span>
#include <string_view>

namespace hocket {

/// The names that `make_schedule` knows.
[[nodiscard]] std::span<std::string_view const> schedule_names() noexcept;

/// A known schedule for any number of ranks and microbatches, at least one of each; without
/// communication, which `with_communication` adds.
///
/// | name | stages a rank | what it is |
/// |---|---|---|
/// | `forward` | 1 or more | inference: microbatches stream through, no gradients |
/// | `gpipe` | 1 | all forwards, then all backwards (Huang et al., GPipe, 2019) |
/// | `1f1b` | 1 | after a warm-up one forward, one backward: `ranks - r` activations on rank r |
/// | `interleaved-1f1b` | 2 or more | 1f1b over several stages a rank (Narayanan et al., 2021) |
/// | `looped-bfs` | 2 or more | gpipe over several stages a rank (Lamy-Poirier, 2022) |
/// | `zb-h1` | 1 | 1f1b with I and W apart, W where a rank would wait (Qi et al., 2023) |
/// | `zbv` | 2 | the same on a V: rank r has the stages r and 2 ranks - 1 - r (Qi et al., 2024) |
/// | `dualpipev` | 2 | on a V, forwards of one arm beside backwards of the other (DeepSeek, 2025) |
///
/// `virtual_stages` is the number of stages a rank, 0 for the schedule's least. Stage s is on rank
/// `s % ranks` where it is not a V. Fewer microbatches than a schedule is made for, or a number
/// that its groups do not divide, shorten it: the actions of absent microbatches are left out.
/// `errc::invalid_argument` for an unknown name and for numbers outside these ranges,
/// `errc::too_large` above `schedule::actions_max`.
[[nodiscard]] schedule make_schedule(std::string_view name, int ranks, int microbatches,
                                     int virtual_stages = 0);

}  // namespace hocket
