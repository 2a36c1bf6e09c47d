// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "verdict.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstring>
#include <string_view>

namespace hocket::tools {

int shell_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

std::string describe_end(int wait_status) {
  if (!WIFSIGNALED(wait_status))
    return fmt::format("exited with status {}", WEXITSTATUS(wait_status));
  int const signal = WTERMSIG(wait_status);
  auto const* const name = ::sigabbrev_np(signal);
  auto const* const text = ::sigdescr_np(signal);
  if (name == nullptr || text == nullptr) return fmt::format("was ended by signal {}", signal);
  return fmt::format("was ended by signal {} (SIG{}, {})", signal, name, text);
}

std::string quoted(std::span<std::string const> args) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  std::string line;
  for (auto const& arg : args) {
    if (!line.empty()) line += ' ';
    if (!arg.empty() && arg.find_first_not_of(plain) == std::string::npos) {
      line += arg;
      continue;
    }
    line += '\'';
    for (char const c : arg) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

void verdict::ended(failure const& end) {
  if (!first_ && shell_status(end.wait_status) != 0) first_ = end;
}

int verdict::exit_status() const { return first_ ? shell_status(first_->wait_status) : 0; }

std::string failure_report(verdict::failure const& failure, int world,
                           std::span<std::string const> command,
                           std::span<std::string const> last_lines) {
  auto text = fmt::format("hocket: rank {} of {} {} (process {}): {}\n", failure.rank, world,
                          describe_end(failure.wait_status), failure.pid, quoted(command));
  if (last_lines.empty()) return text + "hocket: it wrote nothing to stderr\n";
  text += fmt::format("hocket: the last lines of its stderr:\n");
  for (auto const& line : last_lines) text += fmt::format("  {}\n", line);
  return text;
}

}  // namespace hocket::tools
