// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <hocket/async/runtime.hpp>
#include <hocket/launch/environment.hpp>
#include <optional>

#include "finding.hpp"
#include "io/poller.hpp"

namespace hocket::tools {
namespace {

std::string variable(char const* name) {
  char const* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

finding chosen_poller() {
  finding f{"poller", "sockets", "", {}};
  auto const asked = variable("HOCKET_IO");
  try {
    auto const name = std::string(io::make_poller()->name());
    bool const is_asked = !asked.empty() && asked != "auto";
    auto const why = is_asked ? fmt::format("HOCKET_IO={} asks for it", asked)
                              : std::string(
                                    "as quick as io_uring while threads sleep, quicker where "
                                    "they look again and again; HOCKET_IO=io_uring takes "
                                    "the other");
    f.text = fmt::format("{}: {}", name, why);
    f.facts = {{"name", name}, {"why", why}};
  } catch (std::exception const& e) {
    f.text = fmt::format("MISSING: {}", e.what());
    f.facts = {{"name", nullptr}, {"why", e.what()}};
    f.is_missing = true;
  }
  return f;
}

finding chosen_in_host(bool can_read_peers) {
  std::string const way = can_read_peers ? "peer_memory" : "unix_sockets";
  std::string const why =
      can_read_peers ? "what is large is read from the memory of the peer in one copy, the rest "
                       "goes over Unix "
                       "sockets"
                     : "all goes over Unix sockets, since the memory of a peer cannot be read";
  return {"in_host", "inside a host", why, {{"way", way}, {"why", why}}};
}

finding chosen_between_hosts() {
  std::string const why =
      "TCP, by the address from which MASTER_ADDR is reached; authenticated with "
      "the job's secret, not encrypted";
  return {"between_hosts", "between hosts", why, {{"way", "tcp"}, {"why", why}}};
}

finding chosen_engine() {
  finding f{"engine", "engine", "", {}};
  try {
    auto const place = launch_options::from_environment();
    bool const is_local = place.size() == 1 && place.engine() != engine_choice::host;
    std::string const name = is_local ? "local" : "host";
    f.text = fmt::format("{}: the variables say rank {} of {}, {} of them on this host", name,
                         place.rank(), place.size(), place.local_size());
    f.facts = {{"name", name},
               {"rank", place.rank()},
               {"size", place.size()},
               {"local_size", place.local_size()},
               {"authenticated", !place.secret().empty()}};
  } catch (std::exception const& e) {
    f.text = fmt::format("MISSING: join would fail: {}", e.what());
    f.facts = {{"name", nullptr}, {"why", e.what()}};
    f.is_missing = true;
  }
  return f;
}

struct known_variable {
  char const* name;
  char const* meaning;
};

constexpr std::array ours{
    known_variable{"HOCKET_IO", "how sockets are driven: auto (the default), epoll, io_uring"},
    known_variable{"HOCKET_ENGINE", "auto (the default), local or host"},
    known_variable{"HOCKET_TIMEOUT_MS", "the limit of start-up and of the store; default 300000"},
    known_variable{"HOCKET_LOG",
                   "what is told on stderr: debug, info, warning (the default), error, off"},
    known_variable{"HOCKET_JOB_ID", "the name of the job, under which ranks of one host meet"},
    known_variable{"HOCKET_SECRET_FD", "the open file that holds the job's secret"},
    known_variable{"HOCKET_SECRET_FILE", "the file that holds the job's secret"},
    known_variable{"HOCKET_EMBED_MODEL", "where hocket-embed looks for its model"},
};

constexpr std::array launchers{"RANK",
                               "WORLD_SIZE",
                               "LOCAL_RANK",
                               "LOCAL_WORLD_SIZE",
                               "MASTER_ADDR",
                               "MASTER_PORT",
                               "TORCHELASTIC_USE_AGENT_STORE",
                               "TORCHELASTIC_RUN_ID",
                               "OMPI_COMM_WORLD_RANK",
                               "OMPI_COMM_WORLD_SIZE",
                               "OMPI_COMM_WORLD_LOCAL_RANK",
                               "OMPI_COMM_WORLD_LOCAL_SIZE",
                               "PMI_RANK",
                               "PMI_SIZE",
                               "MPI_LOCALRANKID",
                               "MPI_LOCALNRANKS",
                               "PMIX_NAMESPACE",
                               "SLURM_PROCID",
                               "SLURM_STEP_NUM_TASKS",
                               "SLURM_STEP_NUM_NODES",
                               "SLURM_LOCALID",
                               "SLURM_NTASKS_PER_NODE",
                               "SLURM_JOB_ID",
                               "SLURM_STEP_ID"};

finding variable_finding(std::string const& name, std::string const& meaning) {
  char const* const value = std::getenv(name.c_str());
  finding f{name, name, "", {{"meaning", meaning}}};
  f.facts["value"] = value == nullptr ? boost::json::value() : boost::json::value(value);
  f.text =
      fmt::format("{}: {}", value == nullptr ? "not set" : fmt::format("\"{}\"", value), meaning);
  return f;
}

bool is_ours(std::string_view name) {
  for (auto const& known : ours)
    if (name == known.name) return true;
  return false;
}

}  // namespace

std::vector<finding> examine_choices(bool can_read_peers) {
  return {chosen_poller(), chosen_in_host(can_read_peers), chosen_between_hosts(), chosen_engine()};
}

std::vector<finding> examine_threads() {
  (void)runtime::process();
  std::vector<finding> all;
  std::error_code ignored;
  for (std::filesystem::directory_iterator at("/proc/self/task", ignored), end; at != end;
       at.increment(ignored)) {
    auto const name = first_line((at->path() / "comm").string());
    if (!name.starts_with("hocket-")) continue;
    std::string const use =
        "moves bytes and watches deadlines while the program computes; sleeps "
        "else. One a process";
    all.push_back({name, name, use, {{"use", use}}});
  }
  return all;
}

std::vector<finding> examine_environment() {
  std::vector<finding> all;
  for (auto const& known : ours) all.push_back(variable_finding(known.name, known.meaning));
  for (char const* const name : launchers)
    if (std::getenv(name) != nullptr) all.push_back(variable_finding(name, "from the launcher"));
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view const text(*entry);
    std::string const name(text.substr(0, text.find('=')));
    if (name.starts_with("HOCKET_") && !is_ours(name))
      all.push_back(variable_finding(name, "unknown to this version; misspelt?"));
  }
  return all;
}

}  // namespace hocket::tools
