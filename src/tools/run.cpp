// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// hocket run: starts the ranks of a job on this host, or this host's ranks of a job on several.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <hocket/error.hpp>
#include <span>
#include <sstream>

#include "options.hpp"
#include "standard_output.hpp"
#include "supervisor.hpp"

namespace hocket::tools {
namespace {

namespace po = boost::program_options;

constexpr std::int64_t ranks_max = 4096;
constexpr std::int64_t nodes_max = 4096;
constexpr std::int64_t grace_default = 2;
constexpr std::int64_t grace_max = 24 * 3600;

po::options_description options() {
  po::options_description all("options", 100);
  auto add = all.add_options();
  add("ranks,n", po::value<std::int64_t>()->value_name("N"), "how many ranks to start");
  add("grace", po::value<std::int64_t>()->value_name("SECONDS"),
      "from SIGTERM to SIGKILL (default 2)");
  add("label", po::bool_switch(),
      "put \"[rank] \" before every line; a terminal is always shown these labels");
  add("open-store", po::bool_switch(),
      "the store at MASTER_PORT also serves PyTorch's TCPStore clients, which prove nothing");
  add("nnodes", po::value<std::int64_t>()->value_name("N"), "how many hosts; each runs a launcher");
  add("node-rank", po::value<std::int64_t>()->value_name("R"), "which of them this is, from 0 on");
  add("rdzv", po::value<std::string>()->value_name("HOST:PORT"),
      "where the launcher of node 0 serves the job's store to all hosts");
  add("secret-file", po::value<std::string>()->value_name("FILE"),
      "32 bytes or 64 hexadecimal digits, the same on all hosts and readable by their owner only");
  return all;
}

std::string help() {
  std::ostringstream text;
  text
      << "hocket run -n N [--grace SECONDS] [--label] [--open-store]\n"
         "           [--nnodes N --node-rank R --rdzv HOST:PORT --secret-file FILE]\n"
         "           -- PROGRAM [ARGUMENT...]\n\n"
         "Starts PROGRAM N times on this host. What stands behind -- is PROGRAM's own.\n\n"
      << options()
      << "\nEach rank finds its place in the variables that torchrun sets (RANK, WORLD_SIZE,\n"
         "LOCAL_RANK, MASTER_ADDR, MASTER_PORT and the others) and in HOCKET_JOB_ID, random for\n"
         "each job; values that were there before are replaced. The launcher serves the job's\n"
         "store at MASTER_PORT (TORCHELASTIC_USE_AGENT_STORE=True) to processes that hold the\n"
         "job's random secret, which ranks inherit as an open file (HOCKET_SECRET_FD); nothing is\n"
         "encrypted. The store tells the other ranks when one ends. PyTorch's programs know no\n"
         "secret: start them with --open-store, and any local process can use the store.\n\n"
         "On several hosts the same command runs on each, but for --node-rank; the ranks are "
         "numbered\nnode by node, N on each. Ranks meet at --rdzv, whose port must be free on node "
         "0 "
         "and\nreachable from the others. A failure on one host ends the job on all; each launcher "
         "has the\nstatus of the job, and waits for its end.\n\n"
         "Lines of different ranks do not mix; a line over 64 KiB is written in pieces, and if "
         "its\n"
         "rank pauses in it for a second, waiting lines of others follow on a new line. Rank 0\n"
         "reads the launcher's stdin unless that is a terminal; the others read nothing.\n\n"
         "SIGINT, SIGTERM and SIGHUP go to the process groups of all ranks, SIGUSR1 and SIGUSR2 "
         "to\nthe ranks alone. What still runs --grace seconds after SIGTERM or SIGHUP gets "
         "SIGKILL.\nSIGINT is followed by SIGTERM after the same time, or at once by a second "
         "SIGINT. A signal\nthat was ignored when the launcher started (nohup) stays ignored.\n\n"
         "When the first rank fails, all are ended: SIGTERM, --grace seconds later SIGKILL. So is\n"
         "every process that ranks leave behind, everything when the output of the ranks cannot "
         "be\nwritten, and all at once with SIGKILL when the launcher itself is killed.\n\n"
         "The exit status is 0, or that of the first rank that failed (128 + the signal that "
         "ended\nit), 127 if there is no such program, 126 if it may not be run, 2 for an error of "
         "the\nlauncher.\n"
         "\nexample: two ranks that say who they are\n"
         "  $ hocket run -n 2 --label -- sh -c 'echo rank $RANK of $WORLD_SIZE'\n"
         "  [0] rank 0 of 2\n"
         "  [1] rank 1 of 2\n";
  return text.str();
}

// A program that stands before --, or without any: the parser can only say that it is no option.
void refuse_stray_program(std::span<std::string const> own) {
  for (std::size_t i = 0; i < own.size(); ++i) {
    auto const& arg = own[i];
    if (arg == "-n" || arg == "--ranks" || arg == "--grace" || arg == "--nnodes" ||
        arg == "--node-rank" || arg == "--rdzv" || arg == "--secret-file")
      ++i;
    else if (!arg.starts_with('-'))
      throw error(errc::invalid_argument,
                  fmt::format("the program stands behind --, as in: hocket run {} -- {}",
                              quoted(own.first(i)), quoted(own.subspan(i))));
  }
}

std::int64_t in_range(po::variables_map const& values, char const* name, char const* shown,
                      std::int64_t least, std::int64_t most) {
  auto const value = values[name].as<std::int64_t>();
  if (value < least || value > most)
    throw error(errc::invalid_argument,
                fmt::format("{} {} is not in {}..{}", shown, value, least, most));
  return value;
}

// "[::1]:29500" as host and port.
void read_address(std::string const& text, node_place& to) {
  auto const colon = text.rfind(':');
  std::uint16_t port = 0;
  auto const* const end = text.data() + text.size();
  if (colon == std::string::npos || colon == 0 ||
      std::from_chars(text.data() + colon + 1, end, port).ptr != end || port == 0)
    throw error(errc::invalid_argument,
                fmt::format("--rdzv {} is not HOST:PORT, as in --rdzv node0:29500", text));
  to.host = text.substr(0, colon);
  if (to.host.starts_with('[') && to.host.ends_with(']'))
    to.host = to.host.substr(1, to.host.size() - 2);
  to.port = port;
}

node_place read_place(po::variables_map const& values) {
  constexpr std::array names{"nnodes", "node-rank", "rdzv", "secret-file"};
  auto const is_there = [&](char const* name) { return values.count(name) != 0; };
  node_place place;
  if (std::ranges::none_of(names, is_there)) return place;
  for (auto const* const name : names)
    if (!is_there(name))
      throw error(errc::invalid_argument,
                  fmt::format("--{} is missing: several hosts need --nnodes, --node-rank, --rdzv "
                              "and --secret-file",
                              name));
  place.nodes = static_cast<int>(in_range(values, "nnodes", "--nnodes", 1, nodes_max));
  place.node = static_cast<int>(in_range(values, "node-rank", "--node-rank", 0, place.nodes - 1));
  read_address(values["rdzv"].as<std::string>(), place);
  place.secret = launch_secret::from_file(values["secret-file"].as<std::string>());
  return place;
}

run_options read(arguments const& args) {
  auto const bar = std::ranges::find(args, "--");
  refuse_stray_program({args.begin(), bar});
  auto const values = parse(options(), arguments(args.begin(), bar), dashes::one_or_two);
  if (values.count("ranks") == 0) throw error(errc::invalid_argument, "-n N is missing");
  auto const ranks = in_range(values, "ranks", "-n", 1, ranks_max);
  auto const grace = values.count("grace") == 0
                         ? grace_default
                         : in_range(values, "grace", "--grace", 0, grace_max);
  if (bar == args.end() || bar + 1 == args.end())
    throw error(errc::invalid_argument,
                "no program: it stands behind --, as in hocket run -n 4 -- ./program");
  return {static_cast<int>(ranks),        values["label"].as<bool>(),
          std::chrono::seconds(grace),    values["open-store"].as<bool>(),
          arguments(bar + 1, args.end()), read_place(values)};
}

// Waits for the supervisor and forwards signals to it.
int wait_for(pid_t supervisor, unique_fd const& signals) {
  pollfd ready{signals.get(), POLLIN, 0};
  for (;;) {
    ::poll(&ready, 1, -1);
    signalfd_siginfo info{};
    while (::read(signals.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info))
      if (info.ssi_signo != SIGCHLD) ::kill(supervisor, static_cast<int>(info.ssi_signo));
    int status = 0;
    if (::waitpid(supervisor, &status, WNOHANG) == supervisor) return status;
  }
}

// The supervisor was killed: the kernel ended its ranks, and made the rest children of this one.
void end_orphans(std::vector<pid_t> const& not_ours) {
  for (bool found = true; found;) {
    found = false;
    for (auto const pid : own_children()) {
      if (std::ranges::find(not_ours, pid) != not_ours.end()) continue;
      found = true;
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
}

// Two processes, so that whichever of them is killed, the other one ends all ranks and whatever
// they started. The ranks are children of the second, which has no children that it did not start.
int run(arguments const& args) {
  auto const job = read(args);
  process_state state;
  state.allow_descriptors(static_cast<rlim_t>(job.ranks) * 4 + 64);
  auto const inherited = own_children();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  auto life = make_pipe();
  auto const pid = ::fork();
  if (pid < 0) throw_system(errno, "no process for the supervisor");
  if (pid == 0) {
    life.write.reset();
    ::setpgid(0, 0);  // a terminal's signals reach it once, through the launcher
    return supervisor(job, state, std::move(life.read)).run();
  }
  life.read.reset();
  auto const status = wait_for(pid, state.open_signals());
  end_orphans(inherited);
  if (WIFSIGNALED(status))
    complain(fmt::format("hocket: the launcher's supervisor {}; all ranks were ended\n",
                         describe_end(status)));
  return shell_status(status);
}

}  // namespace

constinit command const run_command{"run", "start the ranks of a job on this host", help, run};

}  // namespace hocket::tools
