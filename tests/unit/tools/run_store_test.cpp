// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// The store that `hocket run` hosts, as its ranks use it.
#include <algorithm>

#include "run_job.hpp"

using namespace hocket::test;

namespace {

std::size_t times(std::string const& text, std::string const& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("the ranks of a job meet at the launcher's store, through a shell, too") {
  auto const met = run_ranks("-n 5 -- '" STORE_RANK "' meet");
  CAPTURE(met.output);
  CHECK(met.status == 0);
  CHECK(times(met.output, "of 5: 110\n") == 5);
  CHECK(run_ranks("-n 1 -- sh -c '\"" STORE_RANK "\" meet; true'").output == "0 of 1: 0\n");
}

TEST_CASE("8 jobs at once keep their stores apart") {
  auto const met = run_program("for i in 1 2 3 4 5 6 7 8; do timeout 60 '" HOCKET_TOOL
                               "' run -n 2 -- '" STORE_RANK "' meet & done; wait");
  CHECK(times(met.output, "of 2: 11\n") == 16);
}

TEST_CASE("the others hear of a rank's death before they are ended") {
  auto const mourning = run_ranks("-n 3 -- '" STORE_RANK "' mourn 2>/dev/null");
  CAPTURE(mourning.output);
  CHECK(mourning.status == 7);
  CHECK(times(mourning.output, "heard: 1 exited with status 7; exited with status 7\n") == 2);
}

TEST_CASE("without the secret a rank meets nobody, unless the store is open") {
  std::string const bare = "-- env -u HOCKET_SECRET_FD '" STORE_RANK "' meet 2>&1";
  auto const refused = run_ranks("-n 1 " + bare);
  CAPTURE(refused.output);
  CHECK(refused.status == 3);
  CHECK(times(refused.output, "wants this job's secret") == 1);
  CHECK(times(refused.output, "plain TCPStore clients are not admitted") == 1);
  CHECK(times(run_ranks("-n 3 --open-store " + bare).output, "of 3: 33\n") == 3);
}

TEST_CASE("ranks that no launcher started meet at rank 0, on one host by the job's name alone") {
  std::string const place = "RANK=$r WORLD_SIZE=3 LOCAL_RANK=$r LOCAL_WORLD_SIZE=3 ";
  auto const start = [](std::string const& variables) {
    return run_program("for r in 2 1 0; do " + variables +
                       "timeout 60 '" STORE_RANK "' meet & done; wait")
        .output;
  };
  CHECK(times(start(place + "HOCKET_JOB_ID=test-$$ "), "of 3: 33\n") == 3);
  CHECK(
      times(
          start("RANK=$r WORLD_SIZE=3 MASTER_ADDR=localhost MASTER_PORT=$((20000 + $$ % 12000)) "),
          "of 3: 33\n") == 3);
  CHECK(times(start("OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=3 HOCKET_JOB_ID=x "),
              "set MASTER_ADDR and MASTER_PORT") == 3);
}
