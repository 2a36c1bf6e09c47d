// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace hocket {

/// From the most talkative to none at all.
enum class log_level { debug, info, warning, error, off };

/// Receives one complete line without its end. Called from any thread, one call at a time.
using log_sink = std::function<void(log_level, std::string_view)>;

/// The least level that is reported. Quiet by default: `warning`, or what `HOCKET_LOG`
/// (debug, info, warning, error, off) says when the process starts.
[[nodiscard]] log_level log_threshold() noexcept;
/// For all threads, from their next line on.
void set_log_threshold(log_level level) noexcept;

/// Replaces the sink; an empty one restores the default, which writes to stderr.
void set_log_sink(log_sink sink);

/// Reports one line if `level` reaches the threshold. Never throws.
void log(log_level level, std::string_view line) noexcept;

namespace detail {

/// Gives lines to the program's own sink, whatever the threshold, one behind the other; false if it
/// has none. Never throws.
bool give_to_sink(log_level level, std::string_view lines) noexcept;

}  // namespace detail

/// True if a line of this level would be reported: asks before an expensive text is made.
[[nodiscard]] inline bool log_enabled(log_level level) noexcept { return level >= log_threshold(); }

}  // namespace hocket
