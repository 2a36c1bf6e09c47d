// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// hocket-embed as a user runs it: exit status, and what stands on stdout and stderr.
#include <doctest/doctest.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <sstream>

#include "embed_support.hpp"
#include "run_program.hpp"

using embed_test::scratch_directory;
using embed_test::tiny_directory;
using hocket::test::program_result;

namespace {

program_result embed_says(std::string const& args) {
  return hocket::test::run_program("'" HOCKET_EMBED "' " + args);
}

// What is told on stderr of a run that fails and prints nothing on stdout.
std::string refused(std::string const& args) {
  auto const result = embed_says(args + " 2>&1 >/dev/null");
  CAPTURE(args);
  CHECK(result.status == 2);
  CHECK(result.output.starts_with("hocket-embed: "));
  CHECK(embed_says(args + " 2>/dev/null").output.empty());
  return result.output;
}

bool has(std::string const& text, std::string const& part) {
  CAPTURE(text);
  CAPTURE(part);
  bool const found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

std::string read_text(std::filesystem::path const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<boost::json::value> documents(std::string const& output) {
  std::vector<boost::json::value> all;
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) all.push_back(boost::json::parse(line));
  return all;
}

}  // namespace

TEST_CASE("every line of the file becomes one line of JSON, in order, on any grid") {
  scratch_directory const directory;
  auto const file = directory.write("text", "first line\r\n\nthird \"quoted\" line\nlast");
  for (char const* const grid : {"", "--cp 2 --pp 2", "--cp=3 --in-flight 1"}) {
    CAPTURE(grid);
    auto const result =
        embed_says(std::string("--tiny ") + grid + " '" + file.string() + "' 2>/dev/null");
    CHECK(result.status == 0);
    auto const lines = documents(result.output);
    REQUIRE(lines.size() == 4);
    CHECK(lines[0].at("text") == "first line");
    CHECK(lines[1].at("text") == "");
    CHECK(lines[2].at("text") == "third \"quoted\" line");
    CHECK(lines[3].at("text") == "last");
    for (auto const& line : lines) CHECK(line.at("embedding").as_array().size() == 24);
  }
}

TEST_CASE("standard input is read like a file, nothing gives nothing") {
  CHECK(documents(hocket::test::run_program("printf 'a b\\nc' | '" HOCKET_EMBED
                                            "' --tiny --pp 2 - 2>/dev/null")
                      .output)
            .size() == 2);
  auto const none = embed_says("--tiny --cp 2 - </dev/null 2>/dev/null");
  CHECK(none.status == 0);
  CHECK(none.output.empty());
}

TEST_CASE("figures of every rank stand on stderr under a line that explains them") {
  auto const told = hocket::test::run_program("printf 'a\\nb\\nc\\n' | '" HOCKET_EMBED
                                              "' --tiny --cp 2 --pp 2 - 2>&1 >/dev/null");
  CHECK(told.status == 0);
  has(told.output, "3 sentences, cp 2 x pp 2");
  has(told.output, "rank stage   cp       wall    compute    exposed     hidden  sentences/s\n");
  has(told.output, "\n   3     1    1 ");
}

TEST_CASE("neighbours are pairs of lines, the closest first") {
  scratch_directory const directory;
  auto const file = directory.write("text", "the cat sat\na dog ran off\nTHE CAT SAT\n");
  for (char const* const option : {"--neighbours 1", "--neighbours=1"}) {
    auto const result =
        embed_says(std::string("--tiny ") + option + " '" + file.string() + "' 2>/dev/null");
    CHECK(result.output == " 1.000      1  the cat sat\n            3  THE CAT SAT\n");
  }
  auto const all = embed_says("--tiny --neighbours '" + file.string() + "' 2>/dev/null");
  CHECK(std::count(all.output.begin(), all.output.end(), '\n') == 6);
}

TEST_CASE("help explains every option") {
  auto const help = embed_says("--help");
  CHECK(embed_says("-h").output == help.output);
  CHECK(help.status == 0);
  for (char const* const option :
       {"--cp", "--pp", "--in-flight", "--model", "--tiny", "--neighbours", "FILE", "get_model.sh"})
    has(help.output, option);
}

TEST_CASE("options that make no run are refused with their values") {
  has(refused("--tiny --cp 0 x"), "--cp 0: must be 1 to 256");
  has(refused("--tiny --pp -3 x"), "--pp -3: must be 1 to 256");
  has(refused("--tiny --cp 64 --pp 5 x"), "--cp 64 times --pp 5 is 320 ranks");
  has(refused("--tiny --in-flight 0 x"), "--in-flight 0");
  has(refused("--tiny --neighbours=0 x"), "--neighbours 0");
  has(refused("--tiny --neighbours -1 x"), "--neighbours -1: must be 1 to");
  has(refused("--tiny --neighbours=-1 x"), "--neighbours -1: must be 1 to");
  has(refused("--tiny --cp two x"), "two");
  has(refused("--tiny --cp 99999999999999999999 x"), "99999999999999999999");
  has(refused("--tiny --cp '' x"), "--cp");
  has(refused("--tiny -x"), "-x is no option; a FILE of that name is ./-x");
  has(refused("--tiny -- -x"), "./-x");
  has(refused("--tiny ''"), "FILE: its name is empty");
  has(refused("--model '' x"), "--model: the directory's name is empty");
  has(refused("--tiny --what x"), "--what");
  has(refused("--tiny"), "one FILE is needed");
  has(refused("--tiny a b"), "not 2");
  has(refused("--tiny --model /somewhere x"), "--tiny and --model /somewhere");
  has(refused("--tiny --pp 5 /dev/null"), "stage 0 of 5 over 4 layers");
}

TEST_CASE("text that cannot be read is refused with its name, line and byte") {
  scratch_directory const directory;
  auto const bad = directory.write("bad", "fine\nK\xC3\xBCste\nbroken \xff here\n").string();
  auto const here = directory.path().string();
  for (std::string const grid : {"--tiny ", "--tiny --cp 2 --pp 2 "}) {
    has(refused(grid + "'" + bad + "'"), bad + ", line 3: byte 8 (0xff)");
    has(refused(grid + "'" + here + "/none'"), "cannot read " + here + "/none: No such file");
    has(refused(grid + "'" + here + "'"), "cannot read " + here + ": Is a directory");
  }
}

TEST_CASE("a tiny model that has no place is refused with the place") {
  auto const nowhere = hocket::test::run_program("TMPDIR=/nowhere '" HOCKET_EMBED
                                                 "' --tiny /dev/null 2>&1 >/dev/null");
  CHECK(nowhere.status == 2);
  has(nowhere.output, "no directory for temporary files (TMPDIR): ");
  auto const refusing =
      hocket::test::run_program("TMPDIR=/proc '" HOCKET_EMBED "' --tiny /dev/null 2>&1 >/dev/null");
  CHECK(refusing.status == 2);
  has(refusing.output, "cannot make a directory in /proc: ");
}

TEST_CASE("a model that is missing or damaged is refused with what is wrong") {
  scratch_directory const empty;
  auto const missing = refused("--model '" + empty.path().string() + "' /dev/null");
  has(missing, "no model in " + empty.path().string());
  has(missing, "get_model.sh");
  tiny_directory const cut;
  auto const weights = cut.path() / "model.safetensors";
  std::filesystem::resize_file(weights, std::filesystem::file_size(weights) - 100);
  has(refused("--cp 2 --model '" + cut.path().string() + "' /dev/null"), "model.safetensors");
  std::filesystem::resize_file(weights, 5);
  has(refused("--cp 2 --model '" + cut.path().string() + "' /dev/null"), "model.safetensors");
  tiny_directory const shallow;
  auto config = boost::json::parse(read_text(shallow.path() / "config.json")).as_object();
  config["num_hidden_layers"] = 3;
  (void)shallow.write("config.json", boost::json::serialize(config));
  has(refused("--model '" + shallow.path().string() + "' /dev/null"),
      "num_hidden_layers is 3 in config.json, but model.safetensors holds 4 layers");
  tiny_directory const other;
  (void)other.write("vocab.txt", "one\ntwo\n");
  has(refused("--model '" + other.path().string() + "' /dev/null"), "vocab.txt");
}

TEST_CASE("output that cannot be written is an error") {
  auto const full = hocket::test::run_program("printf 'a\\nb\\n' | '" HOCKET_EMBED
                                              "' --tiny --cp 2 - 2>&1 >/dev/full");
  CHECK(full.status == 2);
  has(full.output, "the output cannot be written: No space left on device");
  for (char const* const args : {"--help", "--tiny /dev/null"}) {
    CAPTURE(args);
    CHECK(embed_says(std::string(args) + " >&- 2>&- <&-").status ==
          (std::string(args) == "--help" ? 2 : 0));
  }
  has(embed_says("--help 2>&1 >/dev/full").output, "No space left on device");
  CHECK(embed_says("--help >/dev/full 2>/dev/full").status == 2);
  auto const closed =
      hocket::test::run_program("printf 'a\\nb\\n' | '" HOCKET_EMBED "' --tiny --cp 2 - 2>&1 >&-");
  CHECK(closed.status == 2);
  has(closed.output, "the output cannot be written: Bad file descriptor");
}

TEST_CASE("figures and warnings that nobody can read do not stop the run") {
  for (char const* const nowhere : {"2>&-", "2>/dev/full"}) {
    auto const result = hocket::test::run_program(
        "printf 'a\\nb\\n' | '" HOCKET_EMBED "' --tiny --pp 2 - " + std::string(nowhere));
    CHECK(result.status == 0);
    CHECK(documents(result.output).size() == 2);
  }
}

TEST_CASE("SIGINT and SIGTERM end the run between two lines, and the caller sees the signal") {
  for (std::string const name : {"INT", "TERM"}) {
    CAPTURE(name);
    scratch_directory const directory;
    auto const at = directory.path().string();
    std::string text;
    for (int i = 0; i < 300'000; ++i) text += "the cat sat on the mat\n";
    (void)directory.write("text", text);
    auto const status = hocket::test::run_program(
        "cd '" + at + "'; env --default-signal=" + name + " '" HOCKET_EMBED +
        "' --tiny --cp 2 text 2>told >lines & while [ ! -s '" + at +
        "/lines' ]; do sleep 0.02; done; kill -" + name + " $!; wait $!; echo $?");
    CHECK(status.output == (name == "INT" ? "130\n" : "143\n"));
    auto const told = read_text(directory.path() / "told");
    has(told, "ended by SIG" + name + " after ");
    has(told, " of 300000 sentences\n");
    auto const lines = read_text(directory.path() / "lines");
    CHECK(lines.ends_with("]}\n"));
    CHECK(documents(lines).back().at("embedding").as_array().size() == 24);
  }
}
