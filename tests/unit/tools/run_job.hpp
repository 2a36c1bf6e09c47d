// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "run_program.hpp"

namespace hocket::test {

using namespace std::chrono_literals;

/// `hocket run ARGS` as a line of the shell, ended by force if it takes very long.
inline program_result run_ranks(std::string const& args) {
  return run_program("timeout -k 1 60 '" HOCKET_TOOL "' run " + args);
}

/// Whether a process exists and still runs.
inline bool is_alive(pid_t pid) {
  auto const stat = run_program("cat /proc/" + std::to_string(pid) + "/stat 2>/dev/null").output;
  auto const named = stat.rfind(") ");
  return named != std::string::npos && stat.at(named + 2) != 'Z';
}

/// Whether a process ends within some seconds.
inline bool ends(pid_t pid, std::chrono::milliseconds limit = 10s) {
  auto const until = std::chrono::steady_clock::now() + limit;
  while (is_alive(pid)) {
    if (std::chrono::steady_clock::now() > until) return false;
    ::usleep(20'000);
  }
  return true;
}

/// `hocket run -n N --grace S -- sh -c SCRIPT` under the hand of a test, which can signal it. Its
/// stdout and stderr come together.
class job {
 public:
  job(int ranks, std::string const& script, std::string const& grace = "2") {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    output_ = ends[0];
    std::vector<std::string> texts{HOCKET_TOOL, "run", "-n", std::to_string(ranks),
                                   "--grace",   grace, "--", "sh",
                                   "-c",        script};
    std::vector<char*> args;
    for (auto& text : texts) args.push_back(text.data());
    args.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    posix_spawnattr_t signals;  // the launcher heeds none that the test was started to ignore
    ::posix_spawnattr_init(&signals);
    sigset_t all;
    ::sigfillset(&all);
    ::posix_spawnattr_setsigdefault(&signals, &all);
    ::posix_spawnattr_setflags(&signals, POSIX_SPAWN_SETSIGDEF);
    int const failed = ::posix_spawn(&pid_, HOCKET_TOOL, &actions, &signals, args.data(), environ);
    ::posix_spawnattr_destroy(&signals);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (failed != 0) throw std::runtime_error("no process");
  }
  job(job const&) = delete;
  job& operator=(job const&) = delete;
  ~job() {
    if (!reaped_) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(output_);
  }

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }

  /// The next line, without its newline; what there is at the end of the output or after a while.
  std::string line() {
    for (;;) {
      if (auto const end = text_.find('\n'); end != std::string::npos) {
        auto const first = text_.substr(0, end);
        text_.erase(0, end + 1);
        return first;
      }
      pollfd ready{output_, POLLIN, 0};
      char buffer[4096];
      auto const got = ::poll(&ready, 1, 20'000) > 0 ? ::read(output_, buffer, sizeof buffer) : 0;
      if (got <= 0) return std::exchange(text_, {});
      text_.append(buffer, static_cast<std::size_t>(got));
    }
  }

  std::string rest() {
    std::string all;
    for (auto next = line(); !next.empty(); next = line()) all += next + "\n";
    return all;
  }

  /// As a shell would call it; -1 if it does not end.
  int status() {
    if (!ends(pid_, 20s)) return -1;
    int raw = 0;
    ::waitpid(pid_, &raw, 0);
    reaped_ = true;
    return WIFSIGNALED(raw) ? 128 + WTERMSIG(raw) : WEXITSTATUS(raw);
  }

 private:
  pid_t pid_ = 0;
  int output_ = -1;
  std::string text_;
  bool reaped_ = false;
};

}  // namespace hocket::test
