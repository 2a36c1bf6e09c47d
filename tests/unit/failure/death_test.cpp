// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Ranks that are killed or stopped while they work.
#include <algorithm>
#include <long_mode.hpp>
#include <random>

#include "mortal_job.hpp"

using namespace hocket::test;

namespace {

bool contains(std::string const& text, std::string const& what) {
  return text.find(what) != std::string::npos;
}

void wait_ready(mortal_job& job, int n) {
  for (int r = 0; r < n; ++r) {
    auto const line = job[r].line_of("ready", 20s);
    REQUIRE_MESSAGE(line.starts_with("ready"), "rank " << r << ": " << job[r].seen());
  }
}

std::vector<pid_t> pids_of(mortal_job& job, int n) {
  std::vector<pid_t> all;
  for (int r = 0; r < n; ++r) all.push_back(job[r].pid());
  return all;
}

}  // namespace

TEST_CASE(
    "a rank that is killed is named to all others within a second, and they go on without it") {
  std::mt19937 random(20260801);
  for (int i = 0; i < (is_long_mode() ? 200 : 20); ++i) {
    int const n = 3 + i % 3;
    int const victim = static_cast<int>(random() % static_cast<unsigned>(n));
    CAPTURE(i);
    CAPTURE(n);
    CAPTURE(victim);
    std::vector<pid_t> pids;
    std::string name;
    {
      mortal_job job(n, "work");
      name = job.name();
      pids = pids_of(job, n);
      wait_ready(job, n);
      ::usleep(static_cast<useconds_t>(random() % 60'000));
      auto const killed_at = std::chrono::steady_clock::now();
      job[victim].signal(SIGKILL);
      for (int r = 0; r < n; ++r) {
        if (r == victim) continue;
        CAPTURE(r);
        auto const failed = job[r].line_of("failed", 5s);
        CHECK(std::chrono::steady_clock::now() - killed_at < 1s);
        CHECK_MESSAGE(contains(failed, "lost " + std::to_string(victim) + ":"),
                      failed << job[r].seen());
      }
      for (int r = 0; r < n; ++r) {
        if (r == victim) continue;
        CAPTURE(r);
        CHECK_MESSAGE(!job[r].line_of("went on", 5s).empty(), job[r].seen());
        CHECK(job[r].status() == 0);
      }
    }
    CHECK(leftovers(name, pids) == "");
  }
}

TEST_CASE("a rank that is killed while the job starts ends the others with an error") {
  std::mt19937 random(7);
  for (int i = 0; i < (is_long_mode() ? 50 : 10); ++i) {
    int const n = 3;
    int const victim = static_cast<int>(random() % 3u);
    CAPTURE(i);
    CAPTURE(victim);
    mortal_job job(n, "work", {"HOCKET_TIMEOUT_MS=1500", "OP_LIMIT_MS=1500"});
    ::usleep(static_cast<useconds_t>(random() % 40'000));
    job[victim].signal(SIGKILL);
    for (int r = 0; r < n; ++r) {
      if (r == victim) continue;
      CAPTURE(r);
      CHECK_MESSAGE(!job[r].line_of("bye", 6s).empty(), job[r].seen());
      CHECK(job[r].status(2s) == 0);
      INFO(job[r].seen());
      bool const told = contains(job[r].seen(), "failed") || contains(job[r].seen(), "ended");
      CHECK(told);
    }
  }
}

TEST_CASE("a rank that is stopped is missed at the deadline, and says nothing wrong later") {
  mortal_job job(4, "work", {"OP_LIMIT_MS=600"});
  wait_ready(job, 4);
  ::usleep(30'000);
  job[2].signal(SIGSTOP);
  auto const stopped_at = std::chrono::steady_clock::now();
  bool is_missed = false;
  for (int r : {0, 1, 3}) {
    auto const failed = job[r].line_of("failed", 5s);
    CHECK(std::chrono::steady_clock::now() - stopped_at < 2s);
    is_missed = is_missed || contains(failed, "deadline");
    // One that was quicker may have left the world meanwhile.
    bool const is_told = contains(failed, "deadline") || contains(failed, "its last handle was");
    CHECK_MESSAGE(is_told, failed << job[r].seen());
  }
  CHECK(is_missed);
  for (int r : {0, 1, 3}) CHECK_MESSAGE(job[r].status(5s) == 0, job[r].seen());
  job[2].signal(SIGCONT);
  CHECK_MESSAGE(!job[2].line_of("failed", 5s).empty(), job[2].seen());
  CHECK_MESSAGE(job[2].status(5s) == 0, job[2].seen());
}

TEST_CASE("the world is rebuilt without a rank that was killed") {
  for (int i = 0; i < 6; ++i) {
    int const victim = 1 + i % 3;  // rank 0 hosts the store
    mortal_job job(4, "rebuild");
    wait_ready(job, 4);
    ::usleep(static_cast<unsigned>(i) * 7'000);
    job[victim].signal(SIGKILL);
    std::string members;
    for (int r = 0; r < 4; ++r)
      if (r != victim) members += (members.empty() ? "" : ",") + std::to_string(r);
    for (int r = 0; r < 4; ++r) {
      if (r == victim) continue;
      CAPTURE(r);
      CHECK_MESSAGE(job[r].line_of("went on") == "went on as world@1[" + members + "]",
                    job[r].seen());
      CHECK(job[r].status() == 0);
    }
  }
}

TEST_CASE(
    "the world is rebuilt without a rank that has stopped, which is excluded when it goes on") {
  for (int i = 0; i < 3; ++i) {
    mortal_job job(4, "rebuild", {"OP_LIMIT_MS=300"});
    wait_ready(job, 4);
    ::usleep(static_cast<unsigned>(i) * 11'000);
    job[1].signal(SIGSTOP);
    for (int r : {0, 2, 3}) {
      CAPTURE(r);
      CHECK_MESSAGE(job[r].line_of("went on") == "went on as world@1[0,2,3]", job[r].seen());
    }
    job[1].signal(SIGCONT);
    CHECK_MESSAGE(job[1].status() == 0, job[1].seen());
    CHECK_MESSAGE(job[1].line_of("bye") == "bye", job[1].seen());
    CHECK_FALSE(contains(job[1].seen(), "went on"));
    for (int r : {0, 2, 3}) CHECK_MESSAGE(job[r].status() == 0, job[r].seen());
  }
}

TEST_CASE("SIGUSR1 shows what a rank waits for") {
  mortal_job job(3, "work");
  wait_ready(job, 3);
  job[1].signal(SIGSTOP);
  ::usleep(200'000);
  job[0].signal(SIGUSR1);
  auto const line = job[0].line_of("hocket warning: rank 0: world[0,1,2]", 5s);
  CHECK_MESSAGE(contains(line, " ms"), line << job[0].seen());
  CHECK_MESSAGE(contains(line, "rank 1"), line << job[0].seen());
}
