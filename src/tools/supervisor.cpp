// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "supervisor.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "rank_environment.hpp"

namespace hocket::tools {
namespace {

std::string random_job_id() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw_system(errno, "getrandom");
  std::string id;
  for (auto const byte : bytes) id += fmt::format("{:02x}", byte);
  return id;
}

// A port of the loopback that this process listens on for as long as the job lives.
struct kept_port {
  unique_fd socket;
  std::uint16_t number = 0;
};

kept_port keep_port() {
  kept_port port{unique_fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), 0};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (!port.socket || ::bind(port.socket.get(), any, size) != 0 ||
      ::listen(port.socket.get(), SOMAXCONN) != 0 ||
      ::getsockname(port.socket.get(), any, &size) != 0)
    throw_system(errno, "no port of 127.0.0.1 for MASTER_PORT");
  port.number = ntohs(address.sin_port);
  return port;
}

std::vector<std::string> inherited_environment() {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  return all;
}

// A rank is never in the foreground of a terminal: reading from one would stop it.
unique_fd null_device() {
  unique_fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!fd) throw_system(errno, "/dev/null");
  return fd;
}

}  // namespace

supervisor::supervisor(run_options const& options, process_state const& state, unique_fd launcher)
    : options_(options),
      state_(state),
      launcher_(std::move(launcher)),
      signals_(state.open_signals()),
      last_errors_(static_cast<std::size_t>(options.ranks)),
      output_(STDOUT_FILENO, last_errors_.size(), options.label || ::isatty(STDOUT_FILENO) == 1,
              static_cast<std::size_t>(options.ranks * options.place.node)),
      errors_(STDERR_FILENO, last_errors_.size(), options.label || ::isatty(STDERR_FILENO) == 1,
              static_cast<std::size_t>(options.ranks * options.place.node)) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans of the ranks come here, wherever they hide
  errors_.on_read(
      [this](std::size_t rank, std::string_view bytes) { last_errors_[rank].push(bytes); });
}

// The socket of the store, if this launcher serves it, and what its clients have to know.
unique_fd supervisor::open_job(std::string& job, std::uint16_t& port, launch_secret& secret) {
  auto const& place = options_.place;
  if (place.port == 0) {
    auto kept = keep_port();
    job = random_job_id();
    port = kept.number;
    secret = launch_secret::random();
    return std::move(kept.socket);
  }
  job = fmt::format("{}-nodes-at-{}-{}", place.nodes, place.host, place.port);
  port = place.port;
  secret = place.secret;
  link_.emplace(place, options_.ranks, job);
  return place.node == 0 ? unique_fd(listen_for_nodes(place)) : unique_fd();
}

void supervisor::start_ranks(std::string const& job, std::uint16_t port, int secret) {
  auto const null = null_device();
  auto const inherited = inherited_environment();
  rank_place place{0, world(), job, port, secret, options_.place.host, options_.place.nodes};
  for (std::size_t i = 0; i < last_errors_.size(); ++i) {
    place.rank = world_rank(i);
    bool const reads = place.rank == 0 && ::isatty(STDIN_FILENO) == 0;
    auto started = start_rank(
        {options_.program, rank_environment(inherited, place), reads ? STDIN_FILENO : null.get()},
        state_);
    output_.add(ranks_.size(), std::move(started.output));
    errors_.add(ranks_.size(), std::move(started.errors));
    ranks_.push_back(std::move(started));
    ++running_;
  }
}

int supervisor::run() {
  std::string job;
  std::uint16_t port = 0;
  launch_secret secret;
  auto listening = open_job(job, port, secret);
  unique_fd const inherited_secret(secret.to_descriptor());
  if (listening) store_.emplace(std::move(listening), secret, job, options_.open_store);
  try {
    start_ranks(job, port, inherited_secret.get());
  } catch (...) {
    start_failure_ = std::current_exception();
    end_all(SIGTERM);
  }
  if (store_) store_->start();
  if (link_) link_->start();
  if (start_failure_) report_own_failure("its ranks cannot be started");
  collect_ended();
  while (!is_finished()) wait();
  auto const status = result();
  if (link_) {
    link_.reset();
    if (store_) store_->drain();
  }
  return status;
}

bool supervisor::is_finished() const {
  if (has_children_) return false;
  bool const is_well = verdict_.exit_status() == 0 && !start_failure_ && lost_output_ == 0;
  if (link_ && !end_ && is_well && !launcher_is_gone_ && gave_up_on_ == 0) return false;
  return launcher_is_gone_ || gave_up_on_ != 0 || (output_.is_done() && errors_.is_done());
}

int supervisor::poll_timeout() const {
  std::optional<clock::time_point> next;
  for (auto const& at : {escalate_at_, output_.wakes_at(), errors_.wakes_at()})
    if (at && (!next || *at < *next)) next = at;
  if (!next) return -1;
  auto const left = std::chrono::ceil<std::chrono::milliseconds>(*next - clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

void supervisor::wait() {
  waits_.clear();
  waits_.push_back({signals_.get(), POLLIN, 0});
  waits_.push_back({launcher_.get(), POLLIN, 0});
  waits_.push_back({link_ && !end_ ? link_->wake_fd() : -1, POLLIN, 0});
  output_.watch_for(waits_);
  errors_.watch_for(waits_);
  if (::poll(waits_.data(), waits_.size(), poll_timeout()) < 0) {
    if (errno == EINTR) return;
    throw_system(errno, "poll");
  }
  auto const per_stream = last_errors_.size() + 1;
  auto const ready = std::span(waits_).subspan(3);
  output_.serve(ready.first(per_stream));
  errors_.serve(ready.subspan(per_stream));
  notice_lost_output();
  if (waits_[1].revents != 0) {
    launcher_.reset();
    launcher_is_gone_ = true;
    end_all(SIGKILL);
    report_own_failure("its launcher was killed");
  }
  if (waits_[2].revents != 0) notice_end_of_job();
  if (waits_[0].revents != 0) take_signals();
  if (escalate_at_ && clock::now() >= *escalate_at_) escalate();
}

void supervisor::take_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    auto const signal = static_cast<int>(info.ssi_signo);
    if (signal != SIGCHLD) take_signal(signal);
  }
  collect_ended();
}

// Each but SIGUSR1 and SIGUSR2 asks for the end of the job; those are for the rank alone, for they
// would end helpers of its that do not expect them.
void supervisor::take_signal(int signal) {
  if (signal == SIGUSR1 || signal == SIGUSR2) return forward(signal);
  if (!has_children_) gave_up_on_ = signal;
  if (ending_ == 0)
    end_all(signal);
  else if (ending_ == SIGINT)
    end_all(signal == SIGINT ? SIGTERM : signal);
  else
    forward(signal);
}

void supervisor::forward(int signal) {
  bool const is_for_all = signal != SIGUSR1 && signal != SIGUSR2;
  for (auto const& rank : ranks_)
    if (rank.pid != 0) ::kill(is_for_all ? -rank.pid : rank.pid, signal);
}

// A rank that has ended keeps its process group's number until it is reaped, so its group is
// signalled before that.
void supervisor::collect_ended() {
  if (!has_children_) return;
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
      if (errno == EINTR) continue;
      has_children_ = false;
      output_.finish();
      errors_.finish();
      notice_lost_output();
      return;
    }
    if (info.si_pid == 0) break;
    auto const rank = std::ranges::find(ranks_, info.si_pid, &rank_process::pid);
    if (rank != ranks_.end()) {
      bool const exited = info.si_code == CLD_EXITED;
      rank_ended(static_cast<std::size_t>(rank - ranks_.begin()),
                 exited ? W_EXITCODE(info.si_status, 0) : W_EXITCODE(0, info.si_status));
    } else {
      signalled_.erase(info.si_pid);
      ::waitpid(info.si_pid, nullptr, 0);
    }
  }
  if (ending_ != 0) sweep();
}

// Its peers hear of it before they are ended, too.
void supervisor::rank_ended(std::size_t rank, int wait_status) {
  auto& pid = ranks_[rank].pid;
  --running_;
  bool const is_first = ending_ == 0 && wait_status != 0;
  if (ending_ == 0 && link_)
    link_->report_death(world_rank(rank), describe_end(wait_status));
  else if (ending_ == 0 && running_ != 0)
    store_->report_death(static_cast<int>(rank), describe_end(wait_status));
  if ((wait_status != 0 || running_ == 0) && (ending_ == 0 || ending_ == SIGINT)) end_all(SIGTERM);
  int status = 0;
  ::waitpid(pid, &status, 0);
  verdict_.ended({world_rank(rank), pid, status});
  pid = 0;
  if (is_first)
    report_own_failure(fmt::format("rank {} {}", world_rank(rank), describe_end(wait_status)));
  if (running_ == 0 && link_ && verdict_.exit_status() == 0 && !start_failure_)
    link_->report_done();
}

void supervisor::report_own_failure(std::string const& story) {
  if (!link_ || end_ || std::exchange(has_reported_, true)) return;
  int const status = verdict_.first_failure() ? verdict_.exit_status() : 1;
  link_->report_failure(status, fmt::format("node {}: {}", options_.place.node, story));
}

// Another node has failed, or all are done, or the store is lost.
void supervisor::notice_end_of_job() {
  auto heard = link_->end();
  if (!heard || end_) return;
  end_ = std::move(heard);
  if (end_->status != 0 && (ending_ == 0 || ending_ == SIGINT)) end_all(SIGTERM);
}

void supervisor::end_all(int signal) {
  ending_ = signal;
  escalate_at_.reset();
  if (signal != SIGKILL) escalate_at_ = clock::now() + options_.grace;
  signalled_.clear();
  for (auto const& rank : ranks_) {
    if (rank.pid == 0) continue;
    ::kill(-rank.pid, signal);
    signalled_.insert(-rank.pid);
  }
  sweep();
}

void supervisor::escalate() {
  int const next = ending_ == SIGINT ? SIGTERM : SIGKILL;
  if (running_ > 0)
    say(fmt::format("hocket: {} s after SIG{} {} of {} ranks still run: SIG{}\n",
                    options_.grace.count(), ::sigabbrev_np(ending_), running_, options_.ranks,
                    ::sigabbrev_np(next)));
  end_all(next);
}

// Its ranks end as if they had been writing there, which is not to be blamed on the first of them.
void supervisor::notice_lost_output() {
  if (lost_output_ != 0 || verdict_.first_failure()) return;
  lost_output_ = std::max(output_.failure(), errors_.failure());
  if (lost_output_ != 0 && (ending_ == 0 || ending_ == SIGINT)) end_all(SIGTERM);
}

// Processes that ranks left behind, whatever group or session they moved to: each becomes a child
// of this process when its parent ends.
void supervisor::sweep() {
  for (auto const pid : own_children()) {
    if (std::ranges::find(ranks_, pid, &rank_process::pid) != ranks_.end()) continue;
    bool const had_it = ending_ != SIGKILL && signalled_.contains(-::getpgid(pid));
    if (!had_it && signalled_.insert(pid).second) ::kill(pid, ending_);
  }
}

int supervisor::result() {
  if (start_failure_) std::rethrow_exception(start_failure_);
  if (launcher_is_gone_) return 128 + SIGKILL;
  if (gave_up_on_ != 0) return 128 + gave_up_on_;
  if (end_ && end_->status != 0 && !has_reported_) {
    say(fmt::format("hocket: {}: the job was ended\n", end_->story));
    return end_->status;
  }
  if (verdict_.exit_status() != 0) report_own_failure("its ranks were ended");
  if (lost_output_ != 0) throw_system(lost_output_, "the output of the ranks cannot be written");
  if (auto const& first = verdict_.first_failure())
    say(failure_report(
        *first, world(), options_.program,
        last_errors_[static_cast<std::size_t>(first->rank - world_rank(0))].lines()));
  return verdict_.exit_status();
}

void supervisor::say(std::string const& text) {
  auto const whole = (errors_.relay().is_line_open() ? "\n" : "") + text;
  std::string_view left = whole;
  while (!left.empty()) {
    auto const put = ::write(STDERR_FILENO, left.data(), left.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return;
    left.remove_prefix(static_cast<std::size_t>(put));
  }
}

}  // namespace hocket::tools
