// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "rank_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <hocket/error.hpp>

#include "command.hpp"

namespace hocket::tools {
namespace {

// In a process that has forked and not yet run its program.
[[noreturn]] void become(char* const* args, char* const* environment, int const (&streams)[3],
                         int report, pid_t parent, process_state const& state) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(128 + SIGKILL);  // it ended before the line above
  bool ready = true;
  for (int to = 0; to < 3; ++to)
    if (streams[to] != to) ready = ready && ::dup2(streams[to], to) == to;
  if (ready) {
    state.restore();
    ::execvpe(args[0], args, environment);
  }
  int const code = errno;
  while (::write(report, &code, sizeof code) < 0 && errno == EINTR) {
  }
  ::_exit(127);
}

std::vector<char*> pointers(std::vector<std::string> const& texts) {
  std::vector<char*> all;
  for (auto const& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

// The code of an exec that failed; nothing when the program runs and the pipe closed with it.
std::optional<int> exec_failure(int report) {
  int code = 0;
  ssize_t got = 0;
  while ((got = ::read(report, &code, sizeof code)) < 0 && errno == EINTR) {
  }
  if (got == 0) return std::nullopt;
  return got < 0 ? errno : code;
}

}  // namespace

void throw_system(int code, std::string const& story) {
  boost::system::error_code const wrapped(code, boost::system::system_category());
  throw error(wrapped, fmt::format("{}: {}", story, wrapped.message()));
}

pipe_ends make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_system(errno, "no pipe");
  return {unique_fd(ends[0]), unique_fd(ends[1])};
}

process_state::process_state() {
  ::sigemptyset(&taken_);
  ::sigaddset(&taken_, SIGCHLD);
  for (int const signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    struct sigaction inherited {};
    ::sigaction(signal, nullptr, &inherited);
    if (inherited.sa_handler != SIG_IGN) ::sigaddset(&taken_, signal);  // nohup means it
  }
  auto blocked = taken_;
  ::sigaddset(&blocked, SIGTTOU);  // whoever relays may write to a terminal from the background
  ::sigprocmask(SIG_BLOCK, &blocked, &mask_);
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, &pipe_);
  action.sa_handler = SIG_DFL;  // an inherited "ignore" would hide the ends of the ranks
  ::sigaction(SIGCHLD, &action, &child_);
}

void process_state::allow_descriptors(rlim_t descriptors) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) throw_system(errno, "getrlimit");
  if (limit.rlim_cur >= descriptors) return;
  if (limit.rlim_max < descriptors)
    throw error(errc::invalid_argument,
                fmt::format("so many ranks need {} open descriptors, the hard limit is {} "
                            "(ulimit -Hn)",
                            descriptors, limit.rlim_max));
  descriptors_ = limit;
  limit.rlim_cur = descriptors;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) throw_system(errno, "setrlimit");
}

void process_state::restore() const noexcept {
  if (descriptors_) ::setrlimit(RLIMIT_NOFILE, &*descriptors_);
  ::sigaction(SIGPIPE, &pipe_, nullptr);
  ::sigaction(SIGCHLD, &child_, nullptr);
  ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

unique_fd process_state::open_signals() const {
  unique_fd signals(::signalfd(-1, &taken_, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) throw_system(errno, "signalfd");
  return signals;
}

rank_process start_rank(rank_program const& program, process_state const& state) {
  auto output = make_pipe();
  auto errors = make_pipe();
  auto report = make_pipe();
  auto const args = pointers(program.args);
  auto const environment = pointers(program.environment);
  int const streams[] = {program.input, output.write.get(), errors.write.get()};
  auto const parent = ::getpid();
  auto const pid = ::fork();
  if (pid < 0) throw_system(errno, "no process for a rank");
  if (pid == 0) become(args.data(), environment.data(), streams, report.write.get(), parent, state);
  report.write.reset();
  if (auto const code = exec_failure(report.read.get())) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    boost::system::error_code const wrapped(*code, boost::system::system_category());
    throw start_error(
        wrapped, fmt::format("\"{}\" cannot be started: {}", program.args[0], wrapped.message()),
        *code == ENOENT ? 127 : 126);
  }
  for (int const fd : {output.read.get(), errors.read.get()}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
  return {pid, std::move(output.read), std::move(errors.read)};
}

std::vector<pid_t> own_children() {
  std::vector<pid_t> children;
  std::error_code ignored;
  for (std::filesystem::directory_iterator at("/proc", ignored), end; at != end;
       at.increment(ignored)) {
    auto const name = at->path().filename().string();
    pid_t pid = 0;
    auto const* const stop = name.data() + name.size();
    if (std::from_chars(name.data(), stop, pid).ptr != stop || pid <= 0) continue;
    // A process may end between the listing and the reading: getline turns that into a bad stream,
    // where an iterator over the buffer would throw. The text is one line unless the name has some.
    std::ifstream file(at->path() / "stat");
    std::string stat;
    for (std::string line; std::getline(file, line);) stat += line + '\n';
    // "pid (name) state parent ...", and the name may hold anything
    auto const named = stat.rfind(") ");
    pid_t parent = 0;
    if (named == std::string::npos || named + 4 > stat.size()) continue;
    std::from_chars(stat.data() + named + 4, stat.data() + stat.size(), parent);
    if (parent == ::getpid()) children.push_back(pid);
  }
  return children;
}

}  // namespace hocket::tools
