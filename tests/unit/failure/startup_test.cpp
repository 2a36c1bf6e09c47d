// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Ranks that never come, come late or leave.
#include <algorithm>

#include "mortal_job.hpp"

using namespace hocket::test;

namespace {

bool contains(std::string const& text, std::string const& what) {
  return text.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("an absent rank is named when the deadline of the start passes") {
  auto const begun = std::chrono::steady_clock::now();
  mortal_job job(3, "once", {"HOCKET_TIMEOUT_MS=800"}, {0, 2});
  for (int r : {0, 2}) {
    auto const line = job[r].line_of("ended", 5s);
    CHECK_MESSAGE(contains(line, "have not joined group world: 1"), line << job[r].seen());
    CHECK(job[r].status() == 0);
  }
  auto const took = std::chrono::steady_clock::now() - begun;
  CHECK(took > 500ms);
  CHECK(took < 2s);
}

TEST_CASE("without rank 0 there is no store, and the others say so at the deadline") {
  mortal_job job(2, "once", {"HOCKET_TIMEOUT_MS=500"}, {1});
  auto const line = job[1].line_of("ended", 5s);
  CHECK_MESSAGE(contains(line, "store"), line << job[1].seen());
}

TEST_CASE("twenty jobs meet at one name one after another") {
  for (int i = 0; i < 20; ++i) {
    mortal_job job(2, "once", {"HOCKET_JOB_ID=again-and-again-" + std::to_string(::getpid())});
    for (int r : {0, 1}) {
      CHECK_MESSAGE(!job[r].line_of("bye").empty(), job[r].seen());
      CHECK_MESSAGE(job[r].status() == 0, job[r].seen());
      CHECK_MESSAGE(!contains(job[r].seen(), "ended"), job[r].seen());
    }
  }
}

TEST_CASE("a forked child gets an error, and the parent goes on") {
  mortal_job job(2, "fork");
  for (int r : {0, 1}) {
    auto const child = job[r].line_of("child", 5s);
    CHECK_MESSAGE(contains(child, "fork"), child << job[r].seen());
    CHECK_MESSAGE(job[r].line_of("parent goes on").ends_with("ended with 0"), job[r].seen());
    CHECK_MESSAGE(job[r].status() == 0, job[r].seen());
  }
}
