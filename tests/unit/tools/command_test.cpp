// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// The hocket command as a user runs it: exit status, and what stands on stdout and stderr.
#include <doctest/doctest.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <hocket/version.hpp>
#include <iterator>

#include "hocket_says.hpp"

using hocket::test::document;
using hocket::test::hocket_says;
using hocket::test::refused;
namespace json = boost::json;

TEST_CASE("topo prints the world, the order and the groups as one line of JSON") {
  CHECK(hocket_says("topo --world 8 --tp 2 --pp 2 --groups tp,pp --json").output ==
        R"({"world":8,"order":["tp","cp","ep","dp","pp"],)"
        R"("groups":{"tp":[[0,1],[2,3],[4,5],[6,7]],"pp":[[0,4],[1,5],[2,6],[3,7]]}})"
        "\n");
}

TEST_CASE("group keys come back exactly as they were given, five axes by default") {
  auto const keys = [](std::string const& args) {
    std::string all;
    auto const answer = document("topo --world 8 --json --cp 2 " + args);
    for (auto const& [key, lists] : answer.at("groups").as_object())
      all += (all.empty() ? "" : " ") + std::string(key);
    return all;
  };
  CHECK(keys("") == "tp cp ep dp pp");
  CHECK(keys("--groups dp-cp,TP,Pp-tp") == "dp-cp TP Pp-tp");
}

TEST_CASE("offset, order and its other notation reach the grid") {
  CHECK(document("topo --world 4 --tp 2 --offset 8 --groups tp,dp --json").at("groups") ==
        json::parse(R"({"tp":[[8,9],[10,11]],"dp":[[8,10],[9,11]]})"));
  auto const other =
      document("topo --world 8 --tp 2 --cp 2 --outermost-first dp-ep-pp-tp-cp --json");
  CHECK(other.at("order") == json::parse(R"(["cp","tp","pp","ep","dp"])"));
  CHECK(other.at("groups").at("cp") == json::parse("[[0,1],[2,3],[4,5],[6,7]]"));
  CHECK(document("topo --world 8 --tp 2 --order TP-CP-PP-DP --json").at("order") ==
        json::parse(R"(["tp","cp","pp","dp","ep"])"));
}

TEST_CASE("every bad layout is one JSON document with the numbers and exit status 2") {
  CHECK(refused("topo --world 8 --tp 2 --cp 3 --dp 2 --order tp-cp-pp") ==
        "dp 2, but the order tp-cp-pp does not name dp");
  CHECK(refused("topo --world 8 --tp 2 --cp 3 --order tp-cp-pp") ==
        "world 8 != tp 2 * cp 3 * pp 1 (order tp-cp-pp), product 6");
  for (auto args : {"topo",
                    "topo --world 0",
                    "topo --world 8 --tp 0",
                    "topo --world 8 --dp -2147483648",
                    "topo --world 8 --tp 3",
                    "topo --world 8 --offset -1",
                    "topo --world 8 --order tp-tp-dp",
                    "topo --world 8 --order ''",
                    "topo --world 8 --groups tp,",
                    "topo --world 8 --groups tp,xx",
                    "topo --world 8 --groups tp,tp",
                    "topo --world 8 --groups tp,TP",
                    "topo --world 8 --groups cp-dp,dp-cp",
                    "topo --world 8 --svg ''",
                    "topo --world 8 --groups ''",
                    "topo --world ''",
                    "topo --world 2147483648",
                    "''",
                    "topo --world eight",
                    "topo --world 99999999999",
                    "topo --world 8 --wor 8",
                    "topo --world 8 --world 8",
                    "topo 8",
                    "topo --world",
                    "topo --world 8 --order tp-dp --outermost-first dp-tp",
                    "topo --world 2.5",
                    "nonsense",
                    "",
                    "help nonsense",
                    "help topo run",
                    "--version 2",
                    "find-split",
                    "find-split --shape 1,16,6,44 --cp 4",
                    "find-split --shape 1,16,6,44,80",
                    "find-split --shape 1,16,6,44,80x --cp 4",
                    "find-split --shape '' --cp 4",
                    "find-split --shape ,,,, --cp 4",
                    "find-split --shape 1,16,99999999999999999999,44,80 --cp 4",
                    "find-split --shape 1,16,6,44,80 --cp 99999999999999999999",
                    "find-split --shape 1,16,6,44,80 --cp 4 --patch 2,2",
                    "find-split --shape 1,16,6,45,80 --cp 4",
                    "find-split --shape 1,16,6,44,80 --cp 4 --view 0"})
    CHECK(!refused(args).empty());
}

TEST_CASE("without --json an error goes to stderr and stdout stays empty") {
  auto const silent = hocket_says("topo --world 8 --tp 3 2>/dev/null");
  CHECK(silent.status == 2);
  CHECK(silent.output.empty());
  CHECK(hocket_says("topo --world 8 --tp 3 2>&1").output ==
        "hocket: world 8 != tp 3 * cp 1 * ep 1 * dp (derived) * pp 1 (order tp-cp-ep-dp-pp), "
        "product 3 without dp: 8 % 3 = 2\n");
}

TEST_CASE("find-split answers as the library does") {
  CHECK(hocket_says("find-split --shape 1,16,6,44,80 --cp 4 --json").output ==
        "{\"t\":3,\"h\":22,\"w\":80,\"cp_t\":2,\"cp_h\":2}\n");
  CHECK(document("find-split --shape 1,16,56,44,80 --cp 8 --view 7 --patch 1,2,2 --json") ==
        json::parse(R"({"t":1,"h":44,"w":80,"cp_t":8,"cp_h":1})"));
  CHECK(hocket_says("find-split --shape 1,16,6,44,80 --cp 4").output ==
        "each of 4 ranks sees 3 frames x 22 rows x 80 columns\n"
        "2 ranks along the frames, 2 along the height\n");
}

TEST_CASE("commands explain themselves, each with an example that works") {
  auto const overview = hocket_says("--help");
  CHECK(overview.status == 0);
  for (auto name : {"topo", "find-split", "schedule"}) {
    CHECK(overview.output.find(name) != std::string::npos);
    auto const help = hocket_says(std::string("help ") + name);
    CHECK(help.status == 0);
    CHECK(help.output == hocket_says(name + std::string(" --help")).output);
    CHECK(help.output.find("example") != std::string::npos);
  }
  CHECK(hocket_says("--version").output == "hocket " + std::string(hocket::version()) + "\n");
  CHECK(document("--version --json").at("version") == hocket::version());
}

TEST_CASE("the table names every rank's coordinate and every group") {
  auto const table = hocket_says("topo --world 6 --tp 2 --offset 10 --groups dp").output;
  CHECK(table.find("  15       1    0    0    2    0\n") != std::string::npos);
  CHECK(table.find("dp: 2 groups of 3\n  [10,12,14]\n  [11,13,15]\n") != std::string::npos);
}

TEST_CASE("the picture has one cell a rank in the map and in each coloured copy") {
  auto const name = "hocket_topo_" + std::to_string(::getpid()) + ".svg";
  auto const path = (std::filesystem::temp_directory_path() / name).string();
  auto const args = "topo --world 12 --tp 3 --pp 2 --groups tp,dp-pp,cp --svg " + path;
  CHECK(document(args + " --json").at("world") == 12);
  std::ifstream file(path);
  std::string const svg(std::istreambuf_iterator<char>(file), {});
  std::filesystem::remove(path);
  auto const count = [&](std::string const& what) {
    int found = 0;
    for (auto at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) ++found;
    return found;
  };
  CHECK(count("class=\"rank\"") == 12);
  CHECK(count("class=\"small\"") == 24);
  CHECK(count("tp: 4 groups of 3") == 1);
  CHECK(count("cp: each rank is a group of its own") == 1);
  CHECK(document("topo --world 8 --json --svg /nowhere/at/all.svg", 2).at("error").at("code") ==
        "system");
}

TEST_CASE("output that cannot be written is told on stderr, with --json too") {
  for (std::string const args :
       {"topo --world 8", "topo --world 8 --json", "topo --world 100000 --json --groups dp",
        "find-split --shape 1,16,6,44,80 --cp 4", "find-split --shape 1,16,6,44,80 --cp 4 --json",
        "--help", "--help --json", "--version", "topo --help", "help run --json"}) {
    CAPTURE(args);
    auto const full = hocket_says(args + " 2>&1 >/dev/full");
    CHECK(full.status == 2);
    CHECK(full.output == "hocket: the output cannot be written: No space left on device\n");
    auto const closed = hocket_says(args + " 2>&1 >&-");
    CHECK(closed.status == 2);
    CHECK(closed.output == "hocket: the output cannot be written: Bad file descriptor\n");
  }
  auto const lost = hocket_says("topo --world 0 --json 2>&1 >/dev/full");
  CHECK(lost.status == 2);
  CHECK(lost.output.starts_with("hocket: world 0"));
  for (std::string const nowhere :
       {" 2>/dev/full", " 2>&-", " >&- 2>&-", " >/dev/full 2>/dev/full"})
    for (std::string const args : {"topo --world 0", "topo --world 0 --json"})
      CHECK(hocket_says(args + nowhere).status == 2);
}

TEST_CASE("a file does not take the place of a closed stream") {
  auto const name = "hocket_closed_" + std::to_string(::getpid()) + ".svg";
  auto const path = (std::filesystem::temp_directory_path() / name).string();
  CHECK(hocket_says("topo --world 2 --tp 2 --svg " + path + " <&- >&- 2>&-").status == 2);
  std::ifstream file(path);
  std::string const svg(std::istreambuf_iterator<char>(file), {});
  std::filesystem::remove(path);
  CHECK(svg.starts_with("<svg"));
  CHECK(svg.ends_with("</svg>\n"));
}

TEST_CASE("bytes that are not UTF-8 come back as JSON all the same") {
  for (std::string const bytes : {"\xff", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80", "\xf5"}) {
    CHECK(refused("'" + bytes + "'").find("\xEF\xBF\xBD") != std::string::npos);
    CHECK(!refused("topo --world '" + bytes + "'").empty());
    CHECK(!refused("topo --world 8 --groups 'tp," + bytes + "'").empty());
  }
  CHECK(
      refused("'k\xc3\xbcste \xf0\x9f\x8e\xb5'").starts_with("\"k\xc3\xbcste \xf0\x9f\x8e\xb5\""));
}

TEST_CASE("a world is printed as it is counted, however large it is") {
  auto const start = R"({"world":2147483647,"order":["tp","cp","ep","dp","pp"],"groups":{"tp":)";
  CHECK(hocket_says("topo --world 2147483647 --json 2>/dev/null | head -c 80")
            .output.starts_with(start + std::string("[[0],[1],")));
  auto const table = hocket_says("topo --world 2147483646 --tp 2 2>&1");
  CHECK(table.status == 0);
  CHECK(table.output.find("tp: 1073741823 groups of 2\n  [0,1]\n") != std::string::npos);
}
