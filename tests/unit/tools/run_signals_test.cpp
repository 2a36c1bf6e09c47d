// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// hocket run when it is signalled or killed: the ranks hear of it, and nothing is left behind.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

#include "run_job.hpp"

using namespace hocket::test;

namespace {

// Each rank says "pid PID" for itself, and for whatever else the script starts.
std::vector<pid_t> pids(job& running, int count) {
  std::vector<pid_t> all;
  while (static_cast<int>(all.size()) < count) {
    auto const line = running.line();
    REQUIRE(line.starts_with("pid "));
    all.push_back(std::stoi(line.substr(4)));
  }
  return all;
}

// A rank with a child in its group, a child in a session of its own, and one orphaned there.
std::string const family =
    "echo pid $$; sh -c 'echo pid $$; exec sleep 100' & "
    "setsid sh -c 'echo pid $$; exec sleep 101' & "
    "setsid sh -c '(sh -c \"echo pid \\$\\$; exec sleep 102\" &)'; wait; sleep 103";
constexpr int family_size = 4;

pid_t supervisor_of(pid_t rank) {
  auto const stat = run_program("cat /proc/" + std::to_string(rank) + "/stat").output;
  std::istringstream words(stat.substr(stat.rfind(") ") + 2));
  std::string state;
  pid_t parent = 0;
  words >> state >> parent;
  return parent;
}

bool all_end(std::vector<pid_t> const& all, std::chrono::milliseconds limit) {
  return std::ranges::all_of(all, [&](pid_t pid) { return ends(pid, limit); });
}

// How many processes have the text in their command lines.
int running_with(std::string const& text) {
  int count = 0;
  std::error_code ignored;
  for (std::filesystem::directory_iterator at("/proc", ignored), end; at != end;
       at.increment(ignored)) {
    // A process may end between the listing and the reading: getline turns that into a bad stream.
    std::ifstream file(at->path() / "cmdline");
    std::string line;
    for (std::string word; std::getline(file, word, '\0');) line += word + '\0';
    count += line.find(text) != std::string::npos ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("signals reach every rank") {
  struct sent {
    int number;
    std::string name;
  };
  for (auto const& [number, name] :
       {sent{SIGINT, "INT"}, sent{SIGTERM, "TERM"}, sent{SIGHUP, "HUP"}, sent{SIGUSR1, "USR1"},
        sent{SIGUSR2, "USR2"}}) {
    CAPTURE(name);
    job running(3, "trap 'echo got; exit 0' " + name + "; echo up; while :; do sleep 0.05; done");
    for (int rank = 0; rank < 3; ++rank) REQUIRE(running.line() == "up");
    running.signal(number);
    int heard = 0;  // the shell may also tell how its sleep ended
    for (auto line = running.line(); !line.empty(); line = running.line())
      heard += line == "got" ? 1 : 0;
    CHECK(heard == 3);
    CHECK(running.status() == 0);
  }
}

TEST_CASE("SIGUSR1 is for the rank, not for its helpers") {
  job running(1, "trap 'kill $!; echo got; exit 4' USR1; sleep 100 & echo pid $!; wait");
  auto const helper = pids(running, 1).front();
  running.signal(SIGUSR1);
  CHECK(running.line() == "got");
  CHECK(running.status() == 4);
  CHECK(ends(helper));
}

TEST_CASE("a job that a signal ends has the status of that signal and leaves nothing") {
  job running(2, family);
  auto const all = pids(running, 2 * family_size);
  running.signal(SIGINT);
  CHECK(running.status() == 130);
  for (auto const pid : all) CHECK_FALSE(is_alive(pid));
}

TEST_CASE("ranks that ignore SIGTERM or SIGHUP are killed when the grace is over, and it is said") {
  struct sent {
    int number;
    std::string name;
  };
  for (auto const& [number, name] : {sent{SIGTERM, "TERM"}, sent{SIGHUP, "HUP"}}) {
    CAPTURE(name);
    job running(2, "trap '' " + name + "; echo up; while :; do sleep 0.05; done", "1");
    for (int rank = 0; rank < 2; ++rank) REQUIRE(running.line() == "up");
    running.signal(number);
    CHECK(running.status() == 137);
    auto const said = running.rest();
    CAPTURE(said);
    CHECK(said.find("hocket: 1 s after SIG" + name + " 2 of 2 ranks still run: SIGKILL\n") !=
          std::string::npos);
  }
}

TEST_CASE("ranks that ignore SIGINT get SIGTERM when the grace is over") {
  job running(2, "trap '' INT; trap 'exit 5' TERM; echo up; while :; do sleep 0.05; done", "1");
  for (int rank = 0; rank < 2; ++rank) REQUIRE(running.line() == "up");
  running.signal(SIGINT);
  CHECK(running.status() == 5);
  CHECK(running.rest().starts_with("hocket: 1 s after SIGINT 2 of 2 ranks still run: SIGTERM\n"));
}

TEST_CASE("a second SIGINT does not wait for the grace") {
  job running(2, "trap '' INT; trap 'exit 6' TERM; echo up; while :; do sleep 0.05; done", "3600");
  for (int rank = 0; rank < 2; ++rank) REQUIRE(running.line() == "up");
  running.signal(SIGINT);
  ::usleep(100'000);  // two at once may be one to the kernel
  running.signal(SIGINT);
  CHECK(running.status() == 6);
}

TEST_CASE("a signal that was ignored when the launcher started stays ignored") {
  auto const result = run_program("trap '' HUP; exec '" HOCKET_TOOL
                                  "' run -n 1 --grace 0 -- sh -c 'kill -HUP $(cat /proc/$PPID/stat "
                                  "| cut -d \" \" -f 4) $PPID; sleep 0.5; echo alive'");
  CHECK(result.output == "alive\n");
  CHECK(result.status == 0);
}

TEST_CASE("what ranks leave behind is ended with the job, in a session of its own too") {
  job running(2,
              "p=$(setsid sh -c '(sh -c \"echo \\$\\$; exec sleep 100 >/dev/null\" &)' | head -1); "
              "echo pid $p");
  auto const all = pids(running, 2);
  CHECK(running.status() == 0);
  for (auto const pid : all) CHECK_FALSE(is_alive(pid));
}

TEST_CASE("when the launcher is killed, its ranks and all they started are gone soon") {
  job running(3, family);
  auto const all = pids(running, 3 * family_size);
  auto const begin = std::chrono::steady_clock::now();
  running.signal(SIGKILL);
  CHECK(all_end(all, 6s));
  MESSAGE("gone after ms: ", (std::chrono::steady_clock::now() - begin) / 1ms);
  CHECK(running.status() == 137);
}

TEST_CASE("when the supervisor is killed, the launcher ends everything and says so") {
  job running(2, family);
  auto const all = pids(running, 2 * family_size);
  ::kill(supervisor_of(all.front()), SIGKILL);
  auto const said = running.rest();
  CHECK(said ==
        "hocket: the launcher's supervisor was ended by signal 9 (SIGKILL, Killed); all "
        "ranks were ended\n");
  CHECK(running.status() == 137);
  for (auto const pid : all) CHECK_FALSE(is_alive(pid));
}

TEST_CASE("a launcher killed at any moment of its start leaves nothing") {
  std::mt19937 random(20);
  auto const mark = "3600." + std::to_string(::getpid());
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    {
      job running(8, "sleep " + mark + " & exec sleep " + mark);
      ::usleep(static_cast<useconds_t>(random() % 25'000));
      running.signal(SIGKILL);
      CHECK(running.status() == 137);
    }
    int left = running_with(mark);
    for (int i = 0; i < 500 && left != 0; ++i) {
      ::usleep(20'000);
      left = running_with(mark);
    }
    CHECK(left == 0);
  }
}

TEST_CASE("children that a shell had before it became the launcher are left alone") {
  auto const result = run_program("sh -c 'sleep 60 >/dev/null 2>&1 & echo $!; exec \"" HOCKET_TOOL
                                  "\" run -n 2 -- true' </dev/null");
  CHECK(result.status == 0);
  auto const child = std::stoi(result.output);
  CHECK(is_alive(child));
  ::kill(child, SIGTERM);
}

TEST_CASE("an idle launcher uses no processor time") {
  job running(2, "echo pid $$; sleep 100");
  auto const supervisor = supervisor_of(pids(running, 2).front());
  auto const ticks = [&] {
    auto const stat = run_program("cat /proc/" + std::to_string(supervisor) + "/stat").output;
    std::istringstream words(stat.substr(stat.rfind(") ") + 2));
    std::string skipped;
    for (int i = 0; i < 11; ++i) words >> skipped;
    long user = 0, system = 0;
    words >> user >> system;
    return user + system;
  };
  auto const before = ticks();
  ::usleep(500'000);
  CHECK(ticks() - before <= 1);
  running.signal(SIGTERM);
  CHECK(running.status() == 143);
}
