// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// What the variables of launchers say, and where the secret comes from.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <hocket/launch/environment.hpp>
#include <map>
#include <string>

#include "refusal.hpp"

using namespace hocket;
using hocket::test::refusal;
using namespace std::chrono_literals;

namespace {

using variables = std::map<std::string, std::string>;

launch_options read(variables const& all) {
  return launch_options::from_environment([&](char const* name) -> std::optional<std::string> {
    auto const found = all.find(name);
    if (found == all.end()) return std::nullopt;
    return found->second;
  });
}

std::string refused(variables const& all) {
  return refusal([&] { return read(all); });
}

bool is_same(launch_secret const& a, launch_secret const& b) {
  return std::ranges::equal(a.bytes(), b.bytes());
}

// A file of the working folder with some content and mode.
struct temporary_file {
  temporary_file(std::string const& content, mode_t mode)
      : path("launch_secret_" + std::to_string(::getpid())) {
    std::FILE* const file = std::fopen(path.c_str(), "wb");
    REQUIRE(file != nullptr);
    std::fwrite(content.data(), 1, content.size(), file);
    std::fclose(file);
    ::chmod(path.c_str(), mode);
  }
  ~temporary_file() { ::unlink(path.c_str()); }
  std::string path;
};

}  // namespace

TEST_CASE("without variables there is a world of one") {
  auto const o = read({});
  CHECK(o.rank() == 0);
  CHECK(o.size() == 1);
  CHECK(o.local_size() == 1);
  CHECK(o.secret().empty());
  CHECK(o.engine() == engine_choice::automatic);
  CHECK(o.timeout() == 5min);
  CHECK(read({{"RANK", ""}, {"WORLD_SIZE", ""}}).size() == 1);
}

TEST_CASE("torchrun's variables") {
  auto const o = read({{"RANK", "5"},
                       {"WORLD_SIZE", "8"},
                       {"LOCAL_RANK", "1"},
                       {"LOCAL_WORLD_SIZE", "4"},
                       {"MASTER_ADDR", "node-7"},
                       {"MASTER_PORT", "29500"},
                       {"TORCHELASTIC_RUN_ID", "run"},
                       {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                       {"HOCKET_ENGINE", "host"},
                       {"HOCKET_TIMEOUT_MS", "2500"},
                       {"SLURM_PROCID", "3"},
                       {"SLURM_STEP_NUM_TASKS", "64"}});
  CHECK(o.rank() == 5);
  CHECK(o.size() == 8);
  CHECK(o.local_rank() == 1);
  CHECK(o.local_size() == 4);
  CHECK(o.master_host() == "node-7");
  CHECK(o.master_port() == 29500);
  CHECK(o.job() == "run");
  CHECK(o.agent_store());
  CHECK(o.engine() == engine_choice::host);
  CHECK(o.timeout() == 2500ms);
}

TEST_CASE("Open MPI's, a PMI launcher's and SLURM's variables") {
  auto const mpi = read({{"OMPI_COMM_WORLD_RANK", "2"},
                         {"OMPI_COMM_WORLD_SIZE", "3"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"},
                         {"PMIX_NAMESPACE", "prte-1"},
                         {"SLURM_PROCID", "0"},
                         {"SLURM_STEP_NUM_TASKS", "1"}});
  CHECK(mpi.rank() == 2);
  CHECK(mpi.local_size() == 3);
  CHECK(mpi.master_host().empty());
  CHECK(mpi.job() == "prte-1");
  auto const pmi = read({{"PMI_RANK", "1"},
                         {"PMI_SIZE", "2"},
                         {"MPI_LOCALRANKID", "1"},
                         {"MPI_LOCALNRANKS", "2"},
                         {"HOCKET_JOB_ID", "j"}});
  CHECK(pmi.rank() == 1);
  CHECK(pmi.size() == 2);
  variables slurm{{"SLURM_PROCID", "6"},
                  {"SLURM_STEP_NUM_TASKS", "7"},
                  {"SLURM_JOB_ID", "99"},
                  {"SLURM_STEP_ID", "4"},
                  {"SLURM_STEP_NUM_NODES", "1"}};
  CHECK(read(slurm).local_rank() == 6);
  CHECK(read(slurm).job() == "slurm-99.4");
  slurm["SLURM_STEP_NUM_NODES"] = "2";
  CHECK(refused(slurm).find("set MASTER_ADDR and MASTER_PORT") != std::string::npos);
  slurm["MASTER_ADDR"] = "n1";
  slurm["MASTER_PORT"] = "1";
  CHECK(read(slurm).local_size() == 1);
  CHECK(read({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}).size() == 1);  // a batch script
}

TEST_CASE("wrong values are refused by their names") {
  variables const good{
      {"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "1"}};
  auto const with = [&](std::string const& name, std::string const& value) {
    auto all = good;
    all[name] = value;
    return refused(all);
  };
  CHECK(read(good).size() == 2);
  CHECK(with("RANK", "2") == "RANK=2 is not below WORLD_SIZE=2");
  CHECK(with("RANK", "-1") == "RANK=-1 is not in 0..2147483647");
  CHECK(with("RANK", "1x") == "RANK=1x is no number");
  CHECK(with("RANK", " 1") == "RANK= 1 is no number");
  CHECK(with("WORLD_SIZE", "0") == "WORLD_SIZE=0 is not in 1..2147483647");
  CHECK(with("WORLD_SIZE", "99999999999999999999") ==
        "WORLD_SIZE=99999999999999999999 is no number");
  CHECK(with("RANK", "") == "WORLD_SIZE=2 is set, but RANK is not");
  CHECK(with("LOCAL_RANK", "1") == "LOCAL_RANK=1 is set, but LOCAL_WORLD_SIZE is not");
  CHECK(with("MASTER_PORT", "") == "MASTER_ADDR=h is set, but MASTER_PORT is not");
  CHECK(with("MASTER_PORT", "65536") == "MASTER_PORT=65536 is not in 1..65535");
  CHECK(with("HOCKET_ENGINE", "nccl") == "HOCKET_ENGINE=nccl is none of auto, local, host");
  CHECK(with("HOCKET_ENGINE", "local").find("one process") != std::string::npos);
  CHECK(with("HOCKET_TIMEOUT_MS", "0") == "HOCKET_TIMEOUT_MS=0 is not in 1..1000000000000");
  CHECK(with("TORCHELASTIC_USE_AGENT_STORE", "yes") ==
        "TORCHELASTIC_USE_AGENT_STORE=yes is neither True nor False");
  CHECK(with("HOCKET_SECRET_FD", "999")
            .find("HOCKET_SECRET_FD=999: secret in descriptor 999: it "
                  "is not open here") == 0);
  CHECK(refused({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "1"}}) ==
        "OMPI_COMM_WORLD_RANK=1 is not below OMPI_COMM_WORLD_SIZE=1");
  CHECK(
      refused({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "2"}})
          .find("HOCKET_JOB_ID") != std::string::npos);
}

TEST_CASE("a secret travels by a sealed descriptor, and nothing else is taken for one") {
  auto const secret = launch_secret::random();
  CHECK(!secret.empty());
  CHECK(!is_same(secret, launch_secret::random()));
  int const fd = secret.to_descriptor();
  CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0);
  CHECK(is_same(launch_secret::from_descriptor(fd), secret));
  CHECK(is_same(read({{"HOCKET_SECRET_FD", std::to_string(fd)}}).secret(), secret));  // again
  CHECK(::write(fd, "x", 1) < 0);
  ::close(fd);
  CHECK(refusal([&] { return launch_secret::from_descriptor(fd); }).find("not open") !=
        std::string::npos);
  CHECK(refusal([] { return launch_secret::from_descriptor(STDERR_FILENO); }) != "(accepted)");
}

TEST_CASE("a secret's file must be its owner's alone, and of the right size") {
  std::string const bytes = "0123456789abcdefghijklmnopqrstuv";
  std::string hex;
  for (char const c : bytes) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned>(c));
    hex += two;
  }
  auto const from = [](std::string const& content, mode_t mode) {
    temporary_file const file(content, mode);
    return launch_secret::from_file(file.path);
  };
  auto const refused_file = [&](std::string const& content, mode_t mode) {
    return refusal([&] { return from(content, mode); });
  };
  CHECK(is_same(from(bytes, 0600), from(hex, 0400)));
  CHECK(is_same(from(bytes, 0600), from(hex + "\n", 0600)));
  CHECK(refused_file(bytes, 0640).find("mode 0640") != std::string::npos);
  CHECK(refused_file(bytes, 0604).find("chmod 600") != std::string::npos);
  CHECK(refused_file(bytes + "x", 0600).find("33 bytes") != std::string::npos);
  CHECK(refused_file("", 0600).find("0 bytes") != std::string::npos);
  CHECK(refused_file(std::string(64, 'g'), 0600).find("hexadecimal") != std::string::npos);
  CHECK(refused_file(std::string(64, '0'), 0600).find("zeros") != std::string::npos);
  CHECK(refused_file(std::string(100'000, 'a'), 0600).find("or more") != std::string::npos);
  CHECK(refusal([] { return launch_secret::from_file("."); }).find("regular") != std::string::npos);
}
