// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// hocket schedule as a user runs it.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <hocket/pipeline/make_schedule.hpp>
#include <iterator>

#include "hocket_says.hpp"

using hocket::test::document;
using hocket::test::hocket_says;
using hocket::test::refused;
namespace json = boost::json;

namespace {

// A file of the process's own, removed at the end.
class scratch_file {
 public:
  explicit scratch_file(std::string const& ending, std::string const& text = "")
      : path_((std::filesystem::temp_directory_path() /
               ("hocket_schedule_" + std::to_string(::getpid()) + ending))
                  .string()) {
    std::ofstream(path_) << text;
  }
  scratch_file(scratch_file const&) = delete;
  scratch_file& operator=(scratch_file const&) = delete;
  ~scratch_file() { std::filesystem::remove(path_); }

  [[nodiscard]] std::string const& path() const { return path_; }
  [[nodiscard]] std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

int count(std::string const& text, std::string const& what) {
  int found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("schedule answers with bubble, makespan and peaks as one line of JSON") {
  CHECK(hocket_says("schedule 1f1b --stages 4 --microbatches 8 --json").output ==
        "{\"ok\":true,\"bubble\":0.2727272727272727,\"makespan\":33,"
        "\"peak_activations\":[4,3,2,1]}\n");
  auto const zb = document("schedule zb-h1 --stages 4 --microbatches 8 --check --json");
  CHECK(zb.at("bubble").to_number<double>() == doctest::Approx(3.0 / 27));
  auto const v =
      document("schedule interleaved-1f1b --stages 4 --microbatches 8 --virtual 3 --json");
  CHECK(v.at("bubble").to_number<double>() == doctest::Approx(3.0 / 27));
  CHECK(v.at("peak_activations").as_array().size() == 12);
  auto const slow =
      document("schedule forward --stages 2 --microbatches 3 --costs F=2.5,comm=1,last=0.5 --json");
  CHECK(slow.at("makespan").to_number<double>() == doctest::Approx(9.75));
}

TEST_CASE("every schedule is made, drawn and written, and its CSV passes the check") {
  for (auto const name : hocket::schedule_names()) {
    CAPTURE(name);
    scratch_file const svg(".svg");
    scratch_file const csv(".csv");
    auto const made =
        document("schedule " + std::string(name) + " --stages 3 --microbatches 5 --svg " +
                 svg.path() + " --csv " + csv.path() + " --json");
    CHECK(svg.text().starts_with("<svg"));
    CHECK(svg.text().ends_with("</svg>\n"));
    CHECK(count(svg.text(), "waiting (bubble)") == 1);
    CHECK(count(svg.text(), "class=\"rank\"") == 3);
    auto const read = document("schedule " + csv.path() + " --check --json");
    CHECK(read == made);
  }
}

TEST_CASE("the picture has a box for each action that takes time") {
  auto const svg = hocket_says("schedule 1f1b --stages 4 --microbatches 8 --svg -").output;
  CHECK(count(svg, "<g><title>") == 64);
  CHECK(count(svg, "class=\"mb\"") == 64);
  CHECK(count(svg, "<title>2F5: rank 2, stage 2, microbatch 5, time ") == 1);
  CHECK(count(svg, "keeps up to 3 activations") == 1);
  auto const zbv = hocket_says("schedule zbv --stages 4 --microbatches 8 --svg -").output;
  CHECK(count(zbv, "<g><title>") == 8 * 8 * 3);
  CHECK(count(zbv, "stages 0, 7") == 1);
  CHECK(!std::filesystem::exists("-"));
}

TEST_CASE("CSV goes to standard output in either form") {
  CHECK(hocket_says("schedule 1f1b --stages 2 --microbatches 1 --csv -").output ==
        "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n");
  CHECK(hocket_says("schedule 1f1b --stages 2 --microbatches 1 --csv - --csv-form compute_only")
            .output == "0F0,,,0B0\n,1F0,1B0\n");
  CHECK(hocket_says("schedule - --check < /dev/null 2>&1").output ==
        "hocket: -: there is no action in the text\n");
}

TEST_CASE("a bad imported schedule is refused with its reason and exit status 2") {
  auto const verdict = [](std::string const& text, std::string const& more = "") {
    scratch_file const csv(".csv", text);
    auto const story = refused("schedule " + csv.path() + " --check " + more);
    CHECK(story.starts_with(csv.path() + ": "));
    CHECK(refused("schedule --check " + csv.path() + " " + more) == story);
    CHECK(hocket_says("schedule " + csv.path() + " " + more + " 2>/dev/null").status == 2);
    return story.substr(csv.path().size() + 2);
  };
  CHECK(verdict("0F0,0SEND_F0\n1F0\n") ==
        "0SEND_F0 (action 1 of rank 0) has no 1RECV_F0 on rank 1");
  CHECK(verdict("0F0\n1F\n") == "line 2, column 1: \"1F\" has no microbatch behind F");
  CHECK(verdict("0RECV_B0,0F0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n")
            .starts_with("2 ranks wait for each other: rank 0 at 0RECV_B0"));
  CHECK(verdict("0F0\n1F0\n", "--stages 3") == "2 stages, not 3");
  CHECK(verdict("0F0,0STEP\n").find("STEP is not an action") != std::string::npos);
  scratch_file const good(".csv", "0F0,0STEP\n1F0\n");
  CHECK(hocket_says("schedule " + good.path() + " --user STEP --check").output ==
        good.path() + " can be run: 2 ranks, 2 stages, 1 microbatches, 3 actions\n");
  CHECK(document("schedule /nowhere/at/all.csv --json", 2).at("error").at("code") == "system");
}

TEST_CASE("a call of schedule that means nothing is refused") {
  for (auto const args : {"schedule",
                          "schedule --check",
                          "schedule 1f1b",
                          "schedule 1f1b --stages 4",
                          "schedule 1f1b --microbatches 4",
                          "schedule 2f2b --stages 4 --microbatches 8",
                          "schedule 1f1b --stages 0 --microbatches 8",
                          "schedule 1f1b --stages 4 --microbatches -8",
                          "schedule 1f1b --stages 4 --microbatches 8 --virtual 2",
                          "schedule zbv --stages 4 --microbatches 8 --virtual 0",
                          "schedule 1f1b zbv --stages 4 --microbatches 8",
                          "schedule 1f1b --stages 4 --microbatches 8 --svg ''",
                          "schedule 1f1b --stages 4 --microbatches 8 --svg -",
                          "schedule 1f1b --stages 4 --microbatches 8 --csv-form xml",
                          "schedule 1f1b --stages 4 --microbatches 8 --costs F",
                          "schedule 1f1b --stages 4 --microbatches 8 --costs F=",
                          "schedule 1f1b --stages 4 --microbatches 8 --costs F=1x",
                          "schedule 1f1b --stages 4 --microbatches 8 --costs F=nan",
                          "schedule 1f1b --stages 4 --microbatches 8 --costs G=1",
                          "schedule 1f1b --stages 4 --microbatches 8 --user A"})
    CHECK(!refused(args).empty());
  CHECK(hocket_says("schedule 1f1b --stages 4 --microbatches 8 --svg - --csv - 2>&1").output ==
        "hocket: --svg - and --csv - both write to standard output\n");
}

TEST_CASE("the text chart shows who does what when") {
  auto const text = hocket_says("schedule 1f1b --stages 2 --microbatches 2").output;
  CHECK(text.find("     0  F0 F1 .  .  B0 -- .  B1 --\n") != std::string::npos);
  CHECK(text.find("     1  .  F0 B0 -- F1 B1 -- .  .\n") != std::string::npos);
  CHECK(text.find("rank 1: stage 1") != std::string::npos);
}

TEST_CASE("an import whose receives stand early is told what it loses") {
  scratch_file const csv(".csv",
                         "0F0,0SEND_F0,0RECV_B0,0F1,0SEND_F1,0B0,0RECV_B1,0B1\n"
                         "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n");
  auto const text = hocket_says("schedule " + csv.path()).output;
  CHECK(text.find("makespan 10, bubble 40.00 %\nreceives hold their ranks before they are needed; "
                  "moved to where they are, makespan 9, bubble 33.33 %\n") != std::string::npos);
}

TEST_CASE("topo draws to standard output as schedule does") {
  auto const svg = hocket_says("topo --world 4 --tp 2 --svg -");
  CHECK(svg.status == 0);
  CHECK(svg.output.starts_with("<svg"));
  CHECK(svg.output.ends_with("</svg>\n"));
  CHECK(refused("topo --world 4 --svg -") == "--json and --svg - both write to standard output");
}
