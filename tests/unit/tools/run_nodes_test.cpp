// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// `hocket run` on several hosts: launchers beside each other, and each in a network of its own that
// a virtual cable joins to the other, where that is permitted.
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "run_job.hpp"

using namespace hocket::test;

namespace {

class secret_file {
 public:
  explicit secret_file(char digit)
      : path_(std::filesystem::temp_directory_path() /
              ("hocket-nodes-" + std::to_string(::getpid()) + "-" + digit)) {
    std::ofstream(path_) << std::string(64, digit);
    std::filesystem::permissions(path_, std::filesystem::perms::owner_read);
  }
  secret_file(secret_file const&) = delete;
  secret_file& operator=(secret_file const&) = delete;
  ~secret_file() { std::filesystem::remove(path_); }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// A line of the shell that starts one launcher; `inside` goes before it.
std::string launcher(int node, std::string const& at, secret_file const& secret,
                     std::string const& rest, std::string const& inside = "") {
  return inside + " timeout -k 1 60 '" HOCKET_TOOL "' run --nnodes 2 --node-rank " +
         std::to_string(node) + " --rdzv " + at + " --secret-file '" + secret.path() + "' " + rest +
         " 2>&1";
}

// Both at once; the statuses stand on the last two lines.
std::string both(std::string const& first, std::string const& second) {
  return run_program("(" + first + "; echo \"status 0: $?\") & p=$!; " + second +
                     "; s=$?; wait $p; echo \"status 1: $s\"")
      .output;
}

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

// A port that nothing listens on, for a store that starts soon.
std::string address() {
  static int calls = 0;
  return "127.0.0.1:" + std::to_string(20'000 + (::getpid() * 16 + ++calls) % 12'000);
}

}  // namespace

TEST_CASE("the ranks of two launchers are numbered node by node and meet") {
  secret_file const secret('a');
  auto const at = address();
  auto const run = both(launcher(0, at, secret, "-n 2 -- '" JOIN_RANK "'"),
                        launcher(1, at, secret, "-n 2 -- '" JOIN_RANK "'"));
  CAPTURE(run);
  for (int r = 0; r < 4; ++r) CHECK(has(run, std::to_string(r) + " of 4: 66\n"));
  CHECK(has(run, "status 0: 0\n"));
  CHECK(has(run, "status 1: 0\n"));

  auto const next = address();
  std::string const say =
      "--label -n 2 -- sh -c 'echo $RANK $LOCAL_RANK $WORLD_SIZE "
      "$LOCAL_WORLD_SIZE $GROUP_RANK $GROUP_WORLD_SIZE'";
  auto const told = both(launcher(1, next, secret, say), launcher(0, next, secret, say));
  CAPTURE(told);
  CHECK(has(told, "[0] 0 0 4 2 0 2\n"));
  CHECK(has(told, "[3] 3 1 4 2 1 2\n"));
}

TEST_CASE("a failure on one node ends all, with its status") {
  secret_file const secret('b');
  for (int const bad : {0, 1}) {
    CAPTURE(bad);
    auto const at = address();
    std::string const fails = "-n 2 -- sh -c 'sleep 0.5; exit 9'";
    std::string const waits = "-n 2 -- sleep 50";
    auto const run = both(launcher(0, at, secret, bad == 0 ? fails : waits),
                          launcher(1, at, secret, bad == 1 ? fails : waits));
    CAPTURE(run);
    CHECK(has(run, "status 0: 9\n"));
    CHECK(has(run, "status 1: 9\n"));
    CHECK(has(run, "hocket: node " + std::to_string(bad) + ": rank "));
    CHECK(has(run, "exited with status 9: the job was ended"));
  }
}

TEST_CASE("launchers that disagree are told what about") {
  secret_file const secret('c');
  auto const at = address();
  auto const unequal = both(launcher(0, at, secret, "-n 2 -- sleep 50"),
                            launcher(1, at, secret, "-n 3 -- sleep 50"));
  CAPTURE(unequal);
  CHECK(has(unequal, "node 0 starts 2 ranks (-n), node 1 would start 3"));
  CHECK(has(unequal, "status 0: 1\n"));
  CHECK(has(unequal, "status 1: 1\n"));

  secret_file const other('d');
  auto const next = address();
  auto const strangers = both(launcher(0, next, secret, "-n 1 -- sh -c 'sleep 2; exit 4'"),
                              launcher(1, next, other, "-n 1 -- sleep 50"));
  CAPTURE(strangers);
  CHECK(has(strangers, "it does not hold the secret of this job"));
  CHECK(has(strangers, "status 1: 1\n"));
  CHECK(has(strangers, "status 0: 4\n"));
}

TEST_CASE("options of several hosts come together, and the secret is nobody else's") {
  secret_file const secret('e');
  auto const missing = run_ranks("-n 1 --nnodes 2 --rdzv a:1 --node-rank 0 -- true 2>&1");
  CHECK(missing.status == 2);
  CHECK(has(missing.output, "--secret-file is missing"));
  CHECK(has(run_program(launcher(2, "a:1", secret, "-n 1 -- true")).output,
            "--node-rank 2 is not in 0..1"));
  CHECK(has(run_program(launcher(1, "host", secret, "-n 1 -- true")).output,
            "--rdzv host is not HOST:PORT"));
  CHECK(has(run_program(launcher(0, "192.0.2.7:29500", secret, "-n 1 -- true")).output,
            "cannot listen at 192.0.2.7:29500"));
  std::filesystem::permissions(secret.path(), std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  CHECK(run_program(launcher(0, address(), secret, "-n 1 -- true")).status == 2);
}

TEST_CASE("two hosts: launchers and ranks in networks of their own, joined by a cable") {
  auto const id = std::to_string(::getpid());
  std::string const a = "hkta" + id;
  std::string const b = "hktb" + id;
  auto const made = run_program(
      "{ ip netns add " + a + " && ip netns add " + b + " && ip link add va" + id +
      " type veth peer name vb" + id + " && ip link set va" + id + " netns " + a +
      " && ip link set vb" + id + " netns " + b + " && ip -n " + a +
      " addr add 10.77.0.1/24 dev va" + id + " && ip -n " + b + " addr add 10.77.0.2/24 dev vb" +
      id + " && ip -n " + a + " link set va" + id + " up && ip -n " + b + " link set vb" + id +
      " up && ip -n " + a + " link set lo up && ip -n " + b + " link set lo up; } 2>&1");
  if (made.status == 0) {
    secret_file const secret('f');
    std::string const at = "10.77.0.1:29500";
    std::string const in_a = "ip netns exec " + a;
    // A host of its own for the ranks, too: no memory and no Unix sockets of the other one.
    std::string const in_b = "ip netns exec " + b + " unshare --pid --fork --mount-proc";
    auto const run = both(launcher(0, at, secret, "-n 2 -- '" JOIN_RANK "'", in_a),
                          launcher(1, at, secret, "-n 2 -- '" JOIN_RANK "'", in_b));
    CAPTURE(run);
    for (int r = 0; r < 4; ++r) CHECK(has(run, std::to_string(r) + " of 4: 66\n"));
    CHECK(has(run, "status 0: 0\n"));
    CHECK(has(run, "status 1: 0\n"));
    auto const failing = both(launcher(0, at, secret, "-n 2 -- sleep 50", in_a),
                              launcher(1, at, secret, "-n 2 -- sh -c 'sleep 1; exit 6'", in_b));
    CAPTURE(failing);
    CHECK(has(failing, "status 0: 6\n"));
    CHECK(has(failing, "status 1: 6\n"));
  } else {
    MESSAGE("SKIPPED: no network namespaces here: " << made.output);
  }
  run_program("ip netns del " + a + " 2>/dev/null; ip netns del " + b + " 2>/dev/null");
}
