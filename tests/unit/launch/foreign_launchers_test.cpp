// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Processes that other launchers start: their variables are set by hand, in an environment that has
// no others.
#include <doctest/doctest.h>
#include <unistd.h>

#include <string>

#include "run_program.hpp"

using hocket::test::program_result;
using hocket::test::run_program;

namespace {

// Three processes with these variables, in which $r is the number of the process and $$ the same
// for all three of one call; what they print, and the first status that is not 0.
program_result start_three(std::string const& variables) {
  return run_program("s=0; for r in 2 0 1; do timeout 40 env -i " + variables +
                     " '" JOIN_RANK
                     "' & p=\"$p $!\"; done; for q in $p; do wait $q || s=$?; done; "
                     "exit $s");
}

std::size_t times(std::string const& text, std::string const& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

void check_joined(std::string const& variables) {
  auto const met = start_three(variables);
  CAPTURE(variables);
  CAPTURE(met.output);
  CHECK(met.status == 0);
  for (auto const* const line : {"0 of 3: 33\n", "1 of 3: 33\n", "2 of 3: 33\n"})
    CHECK(times(met.output, line) == 1);
}

std::string const master = " MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 12000))";
std::string const torch = "RANK=$r WORLD_SIZE=3";
std::string const open_mpi = "OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=3";
std::string const pmi = "PMI_RANK=$r PMI_SIZE=3";
std::string const slurm = "SLURM_PROCID=$r SLURM_STEP_NUM_TASKS=3 SLURM_JOB_ID=$$ SLURM_STEP_ID=4";

}  // namespace

TEST_CASE("ranks of torchrun's, Open MPI's, PMI's and SLURM's variables meet at MASTER_ADDR") {
  check_joined(torch + " LOCAL_RANK=$r LOCAL_WORLD_SIZE=3" + master);
  check_joined(open_mpi + " OMPI_COMM_WORLD_LOCAL_RANK=$r OMPI_COMM_WORLD_LOCAL_SIZE=3" + master);
  check_joined(pmi + " MPI_LOCALRANKID=$r MPI_LOCALNRANKS=3" + master);
  check_joined(slurm + " SLURM_STEP_NUM_NODES=1" + master);
}

TEST_CASE("ranks that are told of no other rank on their host meet at MASTER_ADDR") {
  for (auto const& place : {torch, open_mpi, pmi, slurm}) check_joined(place + master);
}

TEST_CASE("on one host ranks meet without MASTER_ADDR, by the name of the job") {
  check_joined(torch + " LOCAL_RANK=$r LOCAL_WORLD_SIZE=3 TORCHELASTIC_RUN_ID=torch-$$");
  check_joined(open_mpi +
               " OMPI_COMM_WORLD_LOCAL_RANK=$r OMPI_COMM_WORLD_LOCAL_SIZE=3 PMIX_NAMESPACE=mpi-$$");
  check_joined(pmi + " MPI_LOCALRANKID=$r MPI_LOCALNRANKS=3 HOCKET_JOB_ID=pmi-$$");
  check_joined(slurm + " SLURM_STEP_NUM_NODES=1");
}

TEST_CASE("ranks of several hosts are told what to set when MASTER_ADDR is missing") {
  for (auto const& place :
       {torch + " LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 HOCKET_JOB_ID=j",
        open_mpi + " OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=2 HOCKET_JOB_ID=j",
        pmi + " HOCKET_JOB_ID=j", slurm + " SLURM_STEP_NUM_NODES=3"}) {
    auto const refused = start_three(place);
    CAPTURE(place);
    CAPTURE(refused.output);
    CHECK(refused.status == 3);
    CHECK(times(refused.output, "3 ranks on several hosts") == 3);
    CHECK(times(refused.output, "set MASTER_ADDR and MASTER_PORT to an address of rank 0's host") ==
          3);
  }
}

TEST_CASE("ranks of one host without MASTER_ADDR and a name of the job are told to set one") {
  auto const refused = start_three(torch + " LOCAL_RANK=$r LOCAL_WORLD_SIZE=3");
  CHECK(refused.status == 3);
  CHECK(times(refused.output, "set HOCKET_JOB_ID to a name") == 3);
}

TEST_CASE("a secret of another job keeps a rank out, and the deadline names who has not come") {
  std::string const secret =
      "HOCKET_SECRET_FILE=/tmp/hocket-launch-test-" + std::to_string(::getpid());
  auto const file = [&](char digit) { return secret.substr(secret.find('=') + 1) + "-" + digit; };
  for (char const digit : {'1', '2'})
    run_program("umask 077; printf '%064d' " + std::string(1, digit) + " > " + file(digit));
  std::string const common = torch + " LOCAL_RANK=$r LOCAL_WORLD_SIZE=3 HOCKET_JOB_ID=s-$$ " +
                             "HOCKET_TIMEOUT_MS=2000 " + secret;
  check_joined(common + "-1");
  auto const kept_out = start_three(common + "-$((1 + r / 2))");
  CAPTURE(kept_out.output);
  CHECK(kept_out.status == 3);
  CHECK(times(kept_out.output, "does not hold the secret of this job") == 1);
  CHECK(times(kept_out.output, "these have not joined group world: 2 (") >= 1);
  CHECK(times(kept_out.output, " of 3: ") == 0);
  for (char const digit : {'1', '2'}) ::unlink(file(digit).c_str());
}
