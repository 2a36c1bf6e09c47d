// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// hocket bench as a user runs it.
#include <doctest/doctest.h>

#include <boost/json.hpp>
#include <string>

#include "run_program.hpp"

namespace json = boost::json;

namespace {

hocket::test::program_result bench(std::string const& args) {
  return hocket::test::run_program("'" HOCKET_TOOL "' bench " + args + " 2>/dev/null");
}

void check_rows(std::string const& args, std::size_t rows) {
  auto const result = bench(args + " --seconds 0.001 --explain --json");
  CAPTURE(args);
  CAPTURE(result.output);
  CHECK(result.status == 0);
  auto const all = json::parse(result.output).as_array();
  CHECK(all.size() == rows);
  for (auto const& row : all) {
    CHECK(row.at("wrong").as_int64() == 0);
    CHECK(row.at("time_us").as_double() > 0);
    CHECK(row.at("busbw").is_double());
    CHECK_FALSE(row.at("way").as_string().empty());
  }
}

}  // namespace

TEST_CASE("bench finds nothing wrong between processes, around every threshold") {
  for (std::string const ranks : {"2", "3"}) {
    check_rows("all_reduce --bytes 8:2Mi:x16 --ranks " + ranks, 10);
    check_rows("all_gather --bytes 8:2Mi:x16 --ranks " + ranks, 10);
    check_rows("reduce --bytes 100Ki:900Ki:x2 --ranks " + ranks, 8);
    check_rows("reduce_scatter --bytes 8:2Mi:x64 --ranks " + ranks, 8);
    check_rows("all_to_all --bytes 8:2Mi:x64 --ranks " + ranks, 8);
  }
}

TEST_CASE("bench measures the operations that have one placement") {
  check_rows("broadcast --bytes 8:1Mi:x512", 2);
  check_rows("send_recv --bytes 8:1Mi:x512", 2);
  check_rows("scatter --bytes 8:1Mi:x512", 2);
  check_rows("broadcast_object --bytes 8:1Mi:x512", 2);
  check_rows("barrier", 1);
}

TEST_CASE("bench measures one process, and TCP between processes") {
  check_rows("gather --engine local --ranks 4 --bytes 8:1Mi:x512", 4);
  check_rows("all_reduce --engine host-tcp --ranks 3 --bytes 8:1Mi:x512", 4);
}

TEST_CASE("bench refuses what it cannot measure") {
  for (std::string const args :
       {"", "all_gathr", "all_gather --bytes 8:4", "all_gather --bytes 8:64:8",
        "all_gather --bytes 1Ti", "all_gather --ranks 0", "send_recv --ranks 1",
        "all_gather --engine nccl", "all_gather --seconds 0"}) {
    auto const result = bench(args + " --json");
    CAPTURE(args);
    CHECK(result.status == 2);
    auto const answer = json::parse(result.output);
    CHECK(answer.at("error").at("code") == "invalid_argument");
  }
}
