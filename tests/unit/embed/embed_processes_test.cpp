// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// hocket-embed with one rank a process, as `hocket run` starts it, against all ranks in one.
#include <doctest/doctest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_to.hpp>
#include <cmath>
#include <sstream>

#include "embed_support.hpp"
#include "run_program.hpp"

using embed_test::scratch_directory;
using hocket::test::program_result;
using hocket::test::run_program;

namespace {

constexpr char const* text =
    "two voices take turns\n\none\nwhile one sounds the other rests, and what both sing is one "
    "melody, cut where nobody would cut it\nlast line without an end";

program_result embed_on_processes(int processes, std::string const& args) {
  return run_program("timeout -k 1 100 '" HOCKET_TOOL "' run -n " + std::to_string(processes) +
                     " -- '" HOCKET_EMBED "' " + args);
}

std::vector<std::vector<float>> vectors(std::string const& output) {
  std::vector<std::vector<float>> all;
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);)
    all.push_back(
        boost::json::value_to<std::vector<float>>(boost::json::parse(line).at("embedding")));
  return all;
}

std::size_t times(std::string const& whole, std::string const& part) {
  std::size_t count = 0;
  for (auto at = whole.find(part); at != std::string::npos; at = whole.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("processes give the vectors that one process gives, to 1e-5, and one of them prints") {
  scratch_directory const directory;
  auto const file = "'" + directory.write("text", text).string() + "'";
  auto const expected =
      vectors(run_program("'" HOCKET_EMBED "' --tiny " + file + " 2>/dev/null").output);
  REQUIRE(expected.size() == 5);
  for (int cp = 1; cp <= 2; ++cp)
    for (int pp = 1; pp <= 2; ++pp) {
      CAPTURE(cp);
      CAPTURE(pp);
      auto const grid = "--tiny --cp " + std::to_string(cp) + " --pp " + std::to_string(pp) + " ";
      auto const result = embed_on_processes(cp * pp, grid + file + " 2>/dev/null");
      CHECK(result.status == 0);
      auto const got = vectors(result.output);
      REQUIRE(got.size() == expected.size());
      float worst = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        REQUIRE(got[i].size() == expected[i].size());
        for (std::size_t k = 0; k < got[i].size(); ++k)
          worst = std::max(worst, std::abs(got[i][k] - expected[i][k]));
      }
      CHECK(worst <= 1e-5F);
    }
}

TEST_CASE("a single process has all ranks, and remarks and figures come once") {
  scratch_directory const directory;
  auto const file = "'" + directory.write("text", text).string() + "'";
  CHECK(vectors(embed_on_processes(1, "--tiny --cp 2 --pp 2 " + file + " 2>/dev/null").output)
            .size() == 5);
  auto const told = embed_on_processes(4, "--tiny --cp 2 --pp 2 " + file + " 2>&1 >/dev/null");
  CAPTURE(told.output);
  CHECK(times(told.output, "a tiny model with random weights") == 1);
  CHECK(times(told.output, "5 sentences, cp 2 x pp 2") == 1);
}

TEST_CASE(
    "a grid that is not the number of processes is refused by each before it loads anything") {
  for (int rank = 0; rank < 3; ++rank) {
    auto const alone = run_program("RANK=" + std::to_string(rank) +
                                   " WORLD_SIZE=3 MASTER_ADDR=localhost MASTER_PORT=9 timeout 20 "
                                   "'" HOCKET_EMBED "' --cp 2 --pp 2 --model /nowhere x 2>&1");
    CAPTURE(alone.output);
    CHECK(alone.status == 2);
    CHECK(alone.output ==
          "hocket-embed: rank " + std::to_string(rank) +
              ": --cp 2 times --pp 2 is 4 ranks, and the launcher started 3 processes\n");
  }
  CHECK(embed_on_processes(3, "--tiny --cp 2 x 2>/dev/null").status == 2);
}

TEST_CASE("input that cannot be read ends all processes with status 2") {
  auto const result = embed_on_processes(2, "--tiny --cp 2 /nowhere/text 2>&1");
  CAPTURE(result.output);
  CHECK(result.status == 2);
  CHECK(times(result.output, "/nowhere/text") >= 1);
}
