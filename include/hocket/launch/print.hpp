// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdio>
#include <hocket/group/world.hpp>
#include <hocket/parallel/parallel_state.hpp>
#include <string_view>

namespace hocket {

// Lines for people, as MAGI-1's logger writes them: "[2026-03-01 12:00:00,250 - INFO] message",
// each call's in one piece and in the order of the calls of one thread, whatever the threshold of
// `log.hpp`. Without `to` they go to the program's log sink (`set_log_sink`; level info, without
// the time, line by line), or to stderr if it has set none. Any thread may call, also before
// anything is initialised and after all is destroyed.

/// Prints on the world's first rank only.
void print_rank_0(world const& w, std::string_view message, std::FILE* to = nullptr);
/// Likewise; the state tells the rank, also when it was destroyed. One that was never made prints.
void print_rank_0(ParallelState const& s, std::string_view message, std::FILE* to = nullptr);
/// For the only rank that this process hosts; a process without one prints. `errc::ambiguous_rank`
/// where there are several.
void print_rank_0(std::string_view message, std::FILE* to = nullptr);

/// Prints on every rank that calls it. The message says which rank, if it should.
void print_per_rank(std::string_view message, std::FILE* to = nullptr);

}  // namespace hocket
