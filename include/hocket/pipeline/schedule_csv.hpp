// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <hocket/pipeline/schedule.hpp>
#include <span>
#include <string>
#include <string_view>

namespace hocket {

/// The two forms in which PyTorch's pipelining writes schedules.
enum class csv_form {
  compute_only,   ///< no communication; a column is a step of time, a cell is empty where a rank
                  ///< waits
  compute_comms,  ///< with communication; the cells of a line follow one another
};

/// Longest text that `schedule_from_csv` takes.
inline constexpr std::size_t csv_bytes_max = std::size_t{64} << 20;

/// Reads a schedule from text in the form of `torch.distributed.pipelining`: a line for each rank,
/// an action in each cell (`2F0`, `3SEND_F1`), empty cells without meaning. Either form; what is
/// read has communication if the text does.
///
/// A stage is on the rank whose line names it; there are as many stages and microbatches as the
/// largest numbers say. `(0F1;3B0)OVERLAP_F_B` is read as its parts, one after the other. UNSHARD,
/// RESHARD, REDUCE_GRAD and the names in `user_actions` are user-defined actions; any other name is
/// refused. Spaces around a cell, quotes, a byte order mark, `\r\n` and empty last lines are taken.
///
/// The text may be anything: `errc::invalid_argument` names line, column and cell,
/// `errc::too_large` a text, line or number above the limits here and in `schedule`. What is
/// returned fits together, but can be run only if `check` says so.
[[nodiscard]] schedule schedule_from_csv(std::string_view text, std::string name = "csv",
                                         std::span<std::string const> user_actions = {});

/// The schedule as text, ending in a newline; `schedule_from_csv` reads it back. Communication is
/// added or left out as the form wants; compute_only throws what `check` throws.
[[nodiscard]] std::string to_csv(schedule const& plan, csv_form form = csv_form::compute_comms);

}  // namespace hocket
