// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <hocket/error.hpp>
#include <hocket/launch/environment.hpp>
#include <limits>

namespace hocket {
namespace {

[[noreturn]] void refuse(std::string const& story) { throw error(errc::invalid_argument, story); }

// The names under which one kind of launcher says the same.
struct family {
  char const* rank;
  char const* size;
  char const* local_rank;
  char const* local_size;
};

constexpr family torch{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr family open_mpi{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                          "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
// Before SLURM: an MPI launcher may have been started by srun, once a host.
constexpr family pmi{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};
// SLURM_STEP_NUM_TASKS is set by srun only: a program in a batch script is not a rank of its job.
constexpr char const* slurm_rank = "SLURM_PROCID";
constexpr char const* slurm_size = "SLURM_STEP_NUM_TASKS";

class reader {
 public:
  explicit reader(launch_options::lookup const& variable) : variable_(variable) {}

  // Empty counts as not set, as most launchers mean it.
  [[nodiscard]] std::optional<std::string> text(char const* name) const {
    auto value = variable_(name);
    return value && !value->empty() ? value : std::nullopt;
  }

  [[nodiscard]] bool has(char const* name) const { return text(name).has_value(); }

  [[nodiscard]] std::int64_t number(char const* name, std::int64_t min, std::int64_t max) const {
    auto const value = *text(name);
    std::int64_t n = 0;
    auto const* const end = value.data() + value.size();
    auto const [stop, code] = std::from_chars(value.data(), end, n);
    if (code != std::errc() || stop != end) refuse(fmt::format("{}={} is no number", name, value));
    if (n < min || n > max) refuse(fmt::format("{}={} is not in {}..{}", name, value, min, max));
    return n;
  }

  [[nodiscard]] int count(char const* name, int min) const {
    return static_cast<int>(number(name, min, std::numeric_limits<int>::max()));
  }

  // Both, or neither; true if both.
  [[nodiscard]] bool has_pair(char const* one, char const* other) const {
    if (has(one) == has(other)) return has(one);
    auto const* const there = has(one) ? one : other;
    refuse(fmt::format("{}={} is set, but {} is not", there, *text(there), has(one) ? other : one));
  }

  // A rank and the size that it must be below.
  [[nodiscard]] std::pair<int, int> place(char const* rank, char const* size) const {
    auto const n = count(size, 1);
    auto const r = count(rank, 0);
    if (r >= n)
      refuse(fmt::format("{}={} is not below {}={}", rank, *text(rank), size, *text(size)));
    return {r, n};
  }

 private:
  launch_options::lookup const& variable_;
};

bool take_place(reader const& env, family const& f, launch_options& to) {
  if (!env.has_pair(f.rank, f.size)) return false;
  auto const [rank, size] = env.place(f.rank, f.size);
  to.rank(rank).size(size);
  if (env.has_pair(f.local_rank, f.local_size)) {
    auto const [local_rank, local_size] = env.place(f.local_rank, f.local_size);
    to.local_rank(local_rank).local_size(local_size);
  }
  return true;
}

bool take_slurm_place(reader const& env, launch_options& to) {
  if (!env.has(slurm_size) || !env.has_pair(slurm_rank, slurm_size)) return false;
  auto const [rank, size] = env.place(slurm_rank, slurm_size);
  to.rank(rank).size(size);
  if (env.has("SLURM_STEP_NUM_NODES") && env.number("SLURM_STEP_NUM_NODES", 1, size) == 1)
    to.local_rank(rank).local_size(size);
  else if (env.has("SLURM_LOCALID") && env.has("SLURM_NTASKS_PER_NODE")) {
    auto const [local_rank, local_size] = env.place("SLURM_LOCALID", "SLURM_NTASKS_PER_NODE");
    to.local_rank(local_rank).local_size(local_size);
  }
  return true;
}

void take_job(reader const& env, launch_options& to) {
  for (auto const* const name : {"HOCKET_JOB_ID", "TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE"}) {
    if (auto const id = env.text(name)) {
      to.job(*id);
      return;
    }
  }
  if (env.has(slurm_size) && env.has("SLURM_JOB_ID"))
    to.job(fmt::format("slurm-{}.{}", *env.text("SLURM_JOB_ID"),
                       env.text("SLURM_STEP_ID").value_or("0")));
}

void take_secret(reader const& env, launch_options& to) {
  constexpr auto by_fd = "HOCKET_SECRET_FD";
  constexpr auto by_file = "HOCKET_SECRET_FILE";
  if (env.has(by_fd) && env.has(by_file))
    refuse(fmt::format("{}={} and {}={} are both set: one of them must go", by_fd, *env.text(by_fd),
                       by_file, *env.text(by_file)));
  try {
    if (env.has(by_fd)) to.secret(launch_secret::from_descriptor(env.count(by_fd, 0)));
    if (env.has(by_file)) to.secret(launch_secret::from_file(*env.text(by_file)));
  } catch (error const& e) {
    auto const* const name = env.has(by_fd) ? by_fd : by_file;
    refuse(fmt::format("{}={}: {}", name, *env.text(name), e.what()));
  }
}

void take_choices(reader const& env, launch_options& to) {
  if (auto const name = env.text("HOCKET_ENGINE")) {
    if (*name == "local")
      to.engine(engine_choice::local);
    else if (*name == "host")
      to.engine(engine_choice::host);
    else if (*name != "auto")
      refuse(fmt::format("HOCKET_ENGINE={} is none of auto, local, host", *name));
  }
  if (env.has("HOCKET_TIMEOUT_MS"))
    to.timeout(std::chrono::milliseconds(env.number("HOCKET_TIMEOUT_MS", 1, 1'000'000'000'000)));
  auto const agent = env.text("TORCHELASTIC_USE_AGENT_STORE").value_or("False");
  if (agent != "True" && agent != "False")
    refuse(fmt::format("TORCHELASTIC_USE_AGENT_STORE={} is neither True nor False", agent));
  to.agent_store(agent == "True");
}

}  // namespace

launch_options launch_options::from_environment() {
  return from_environment([](char const* name) -> std::optional<std::string> {
    char const* const value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  });
}

launch_options launch_options::from_environment(lookup const& variable) {
  reader const env(variable);
  launch_options o;
  if (!take_place(env, torch, o) && !take_place(env, open_mpi, o) && !take_place(env, pmi, o))
    (void)take_slurm_place(env, o);
  if (env.has_pair("MASTER_ADDR", "MASTER_PORT"))
    o.master(*env.text("MASTER_ADDR"),
             static_cast<std::uint16_t>(env.number("MASTER_PORT", 1, 65535)));
  take_job(env, o);
  take_secret(env, o);
  take_choices(env, o);
  o.check();
  return o;
}

void launch_options::check() const {
  if (size_ < 1) refuse(fmt::format("a world of {} ranks", size_));
  if (rank_ < 0 || rank_ >= size_) refuse(fmt::format("rank {} in a world of {}", rank_, size_));
  if (local_size_ < 1 || local_size_ > size_ || local_rank_ < 0 || local_rank_ >= local_size_)
    refuse(fmt::format("local rank {} of {} on this host, rank {} of {} in the world", local_rank_,
                       local_size_, rank_, size_));
  if (timeout_ <= clock::duration::zero())
    refuse(fmt::format("a timeout of {} ns", timeout_.count()));
  if (size_ == 1) return;
  if (engine_ == engine_choice::local)
    refuse(fmt::format("the local engine has the ranks of one process; this is one of {}", size_));
  if (!master_host_.empty()) {
    if (master_port_ == 0) refuse(fmt::format("no port of the store at {}", master_host_));
    return;
  }
  if (local_size_ != size_)
    refuse(
        fmt::format("{} ranks on several hosts ({} of them here) have to be told where they "
                    "meet: set MASTER_ADDR and MASTER_PORT to an address of rank 0's host",
                    size_, local_size_));
  if (job_.empty())
    refuse(
        fmt::format("{} ranks have to be told where they meet: set HOCKET_JOB_ID to a name that "
                    "only this job has, or MASTER_ADDR and MASTER_PORT",
                    size_));
}

}  // namespace hocket
