// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <dirent.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace hocket::test {

using namespace std::chrono_literals;

/// One process of a job without a launcher: rank 0 hosts the store. Killed at the latest by the
/// destructor.
class mortal_rank {
 public:
  mortal_rank(std::string const& mode, std::vector<std::string> variables) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    output_ = ends[0];
    for (char** entry = environ; *entry != nullptr; ++entry) variables.emplace_back(*entry);
    std::vector<char*> env;
    for (auto& v : variables) env.push_back(v.data());
    env.push_back(nullptr);
    std::string program = MORTAL_RANK;
    auto own_mode = mode;
    char* args[] = {program.data(), own_mode.data(), nullptr};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    int const failed = ::posix_spawn(&pid_, MORTAL_RANK, &actions, nullptr, args, env.data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (failed != 0) throw std::runtime_error("no process");
  }
  mortal_rank(mortal_rank const&) = delete;
  mortal_rank& operator=(mortal_rank const&) = delete;
  ~mortal_rank() {
    if (!reaped_) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(output_);
  }

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }

  /// The next line without its end; empty at the end of the output or after `limit`.
  std::string line(std::chrono::milliseconds limit = 10s) {
    auto const until = std::chrono::steady_clock::now() + limit;
    for (;;) {
      if (auto const end = text_.find('\n'); end != std::string::npos) {
        auto const first = text_.substr(0, end);
        text_.erase(0, end + 1);
        return first;
      }
      auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(
          until - std::chrono::steady_clock::now());
      pollfd ready{output_, POLLIN, 0};
      char buffer[4096];
      auto const got = left > 0ms && ::poll(&ready, 1, static_cast<int>(left.count())) > 0
                           ? ::read(output_, buffer, sizeof buffer)
                           : 0;
      if (got <= 0) return std::exchange(text_, {});
      text_.append(buffer, static_cast<std::size_t>(got));
    }
  }
  /// Lines up to one that begins with `what`: that one; empty if it does not come.
  std::string line_of(std::string const& what, std::chrono::milliseconds limit = 10s) {
    auto const until = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < until) {
      auto const next = line(std::chrono::duration_cast<std::chrono::milliseconds>(
          until - std::chrono::steady_clock::now()));
      if (next.starts_with(what)) return next;
      if (next.empty()) return next;
      seen_ += next + "\n";
    }
    return {};
  }
  /// What `line_of` passed over.
  [[nodiscard]] std::string const& seen() const { return seen_; }

  /// As a shell would call it; -1 if it does not end in time.
  int status(std::chrono::milliseconds limit = 10s) {
    auto const until = std::chrono::steady_clock::now() + limit;
    int raw = 0;
    while (::waitpid(pid_, &raw, WNOHANG) != pid_) {
      if (std::chrono::steady_clock::now() > until) return -1;
      ::usleep(2'000);
    }
    reaped_ = true;
    return WIFSIGNALED(raw) ? 128 + WTERMSIG(raw) : WEXITSTATUS(raw);
  }

 private:
  pid_t pid_ = 0;
  int output_ = -1;
  std::string text_, seen_;
  bool reaped_ = false;
};

/// The ranks of one job.
class mortal_job {
 public:
  mortal_job(int size, std::string const& mode, std::vector<std::string> const& more = {},
             std::vector<int> const& only = {}) {
    static int count = 0;
    name_ = "mortal-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
    for (int r = 0; r < size; ++r) {
      bool const wanted = only.empty() || std::find(only.begin(), only.end(), r) != only.end();
      if (wanted)
        start(r, size, mode, more);
      else
        ranks_.push_back(nullptr);
    }
  }
  mortal_rank& operator[](int r) { return *ranks_[static_cast<std::size_t>(r)]; }
  [[nodiscard]] std::string const& name() const { return name_; }

 private:
  void start(int r, int size, std::string const& mode, std::vector<std::string> const& more) {
    auto v = more;  // of two equal names the first counts
    v.insert(v.end(),
             {"RANK=" + std::to_string(r), "WORLD_SIZE=" + std::to_string(size),
              "LOCAL_RANK=" + std::to_string(r), "LOCAL_WORLD_SIZE=" + std::to_string(size),
              "HOCKET_JOB_ID=" + name_, "HOCKET_ENGINE=host"});
    ranks_.push_back(std::make_unique<mortal_rank>(mode, std::move(v)));
  }
  std::string name_;
  std::vector<std::unique_ptr<mortal_rank>> ranks_;
};

/// Sockets and shared memory that ranks of Hocket have left on this machine: those of `pids`, and
/// of the job.
inline std::string leftovers(std::string const& job, std::vector<pid_t> const& pids) {
  std::string found;
  std::ifstream sockets("/proc/net/unix");
  for (std::string text; std::getline(sockets, text);) {
    if (text.find(job) != std::string::npos) found += text + "\n";
    for (auto const pid : pids)
      if (text.find("@hocket-" + std::to_string(::getuid()) + "-" + std::to_string(pid) + "-") !=
          std::string::npos)
        found += text + "\n";
  }
  if (auto* const shm = ::opendir("/dev/shm")) {
    while (auto const* const entry = ::readdir(shm))
      if (std::string(entry->d_name).find("hocket") != std::string::npos)
        found += std::string("/dev/shm/") + entry->d_name + "\n";
    ::closedir(shm);
  }
  for (auto const pid : pids)
    if (::kill(pid, 0) == 0) found += "process " + std::to_string(pid) + "\n";
  return found;
}

}  // namespace hocket::test
