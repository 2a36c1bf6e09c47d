// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// What `hocket run` decides without any process: lines, environments, verdicts.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <random>

#include "line_relay.hpp"
#include "rank_environment.hpp"
#include "verdict.hpp"

using namespace hocket::tools;
using namespace std::string_literals;

namespace {

std::string take(line_relay& relay) {
  std::string all(relay.output());
  relay.consume(all.size());
  return all;
}

int exited(int status) { return status << 8; }

}  // namespace

TEST_CASE("a rank's line waits until it is whole, and others pass it meanwhile") {
  line_relay relay(2, false);
  relay.push(0, "half ");
  relay.push(1, "one\ntwo\nthr");
  CHECK(take(relay) == "one\ntwo\n");
  relay.push(0, "whole\n");
  relay.push(1, "ee\n");
  CHECK(take(relay) == "half whole\nthree\n");
}

TEST_CASE("an unfinished last line is passed on as it is, and ended only if another follows") {
  line_relay relay(3, false);
  relay.push(0, "no newline");
  relay.close(0);
  CHECK(take(relay) == "no newline");
  CHECK(relay.is_line_open());
  relay.close(1);
  CHECK(take(relay).empty());
  relay.push(2, "x\n\0y"s);
  CHECK(take(relay) == "\nx\n");
  relay.close(2);
  CHECK(take(relay) == "\0y"s);
}

TEST_CASE("every line has its rank's label once, however it arrives") {
  line_relay relay(12, true);
  relay.push(11, "a\n\nb");
  relay.push(0, "c\n");
  relay.push(11, "b\n");
  relay.push(11, "end");
  relay.close(11);
  CHECK(take(relay) == "[11] a\n[11] \n[0] c\n[11] bb\n[11] end");
}

TEST_CASE("a line over the limit keeps the stream until it ends, in bounded memory") {
  line_relay relay(2, true);
  std::string const piece(line_relay::line_bytes_max, 'x');
  relay.push(0, piece);
  CHECK(take(relay) == "[0] " + piece);
  CHECK(relay.owner() == 0U);
  CHECK_FALSE(relay.is_held_up());
  relay.push(1, "waits\n");
  CHECK(relay.is_held_up());
  relay.push(0, "more");
  CHECK(take(relay) == "more");
  CHECK(relay.wants(1));
  relay.push(1, piece);
  CHECK_FALSE(relay.wants(1));  // it is read no further, so it blocks in its pipe
  relay.push(0, "last\nnext");
  CHECK(take(relay) == "last\n[1] waits\n[1] " + piece);
  CHECK(relay.owner() == 1U);
  relay.close(1);
  relay.push(0, "\n");
  CHECK(take(relay) == "\n[0] next\n");
}

TEST_CASE("a broken line ends with a newline of its own and goes on as a line of its rank") {
  line_relay relay(2, true);
  std::string const piece(line_relay::line_bytes_max, 'x');
  relay.push(0, piece);
  relay.push(1, "waits\n");
  take(relay);
  relay.break_line();
  CHECK(take(relay) == "\n[1] waits\n");
  relay.push(0, "rest\n");
  CHECK(take(relay) == "[0] rest\n");
}

TEST_CASE("nothing more is read while the output is not written") {
  line_relay relay(2, false);
  std::string line(line_relay::line_bytes_max, 'x');
  line.back() = '\n';
  std::size_t pushed = 0;
  for (; relay.wants(0); ++pushed) relay.push(0, line);
  CHECK(pushed == line_relay::output_bytes_max / line.size());
  CHECK_FALSE(relay.wants(1));
  relay.consume(1);
  CHECK(relay.wants(1));
}

TEST_CASE("whatever the pieces, each rank's bytes come out in order and in whole lines") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    constexpr std::size_t ranks = 5;
    std::vector<std::string> texts(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank)
      for (int line = 0; line < 40; ++line)
        texts[rank] += std::string(1, static_cast<char>('a' + rank)) +
                       std::string(random() % 50, static_cast<char>('A' + rank)) + "\n";
    line_relay relay(ranks, false);
    std::vector<std::size_t> at(ranks);
    std::string all;
    while (!std::ranges::equal(at, texts, {}, {}, &std::string::size)) {
      std::size_t const rank = random() % ranks;
      auto const piece = texts[rank].substr(at[rank], random() % 70);
      at[rank] += piece.size();
      relay.push(rank, piece);
      auto const some = relay.output().substr(0, random() % 200);
      all += some;
      relay.consume(some.size());
    }
    all += take(relay);
    std::vector<std::string> sorted(ranks);
    for (std::size_t begin = 0; begin < all.size();) {
      auto const line = all.substr(begin, all.find('\n', begin) - begin + 1);
      sorted.at(static_cast<std::size_t>(line[0] - 'a')) += line;
      begin += line.size();
    }
    CHECK(sorted == texts);
  }
}

TEST_CASE("the last lines are few, whole at their end, and bounded in bytes") {
  last_lines some;
  CHECK(some.lines().empty());
  for (int i = 0; i < 25; ++i) some.push("line " + std::to_string(i) + "\n");
  some.push("unfinished");
  CHECK(some.lines().size() == last_lines::lines_max);
  CHECK(some.lines().front() == "line 16");
  CHECK(some.lines().back() == "unfinished");
  some.push(std::string(100'000, 'x'));
  CHECK(some.lines() == std::vector{std::string(last_lines::bytes_max, 'x')});
}

TEST_CASE("a rank's environment has torchrun's variables and none of an outer job") {
  std::vector<std::string> const inherited{"HOME=/h",
                                           "RANK=77",
                                           "MASTER_PORT=1",
                                           "RANKS=kept",
                                           "TORCHELASTIC_USE_AGENT_STORE=False",
                                           "HOCKET_SECRET_FILE=/s",
                                           "HOCKET_SECRET_FD=8",
                                           "odd"};
  auto const all = rank_environment(inherited, {3, 5, "job", 4711, 9});
  auto const count = [&](std::string const& entry) { return std::ranges::count(all, entry); };
  for (auto const* entry :
       {"HOME=/h", "RANKS=kept", "odd", "RANK=3", "LOCAL_RANK=3", "ROLE_RANK=3", "GROUP_RANK=0",
        "WORLD_SIZE=5", "LOCAL_WORLD_SIZE=5", "ROLE_WORLD_SIZE=5", "GROUP_WORLD_SIZE=1",
        "MASTER_ADDR=127.0.0.1", "MASTER_PORT=4711", "HOCKET_JOB_ID=job", "TORCHELASTIC_RUN_ID=job",
        "TORCHELASTIC_USE_AGENT_STORE=True", "HOCKET_SECRET_FD=9"}) {
    CAPTURE(entry);
    CHECK(count(entry) == 1);
  }
  for (auto const* entry : {"RANK=77", "MASTER_PORT=1", "TORCHELASTIC_USE_AGENT_STORE=False",
                            "HOCKET_SECRET_FILE=/s", "HOCKET_SECRET_FD=8"})
    CHECK(count(entry) == 0);
}

TEST_CASE("ranks of several nodes are numbered node by node") {
  auto const all = rank_environment({}, {5, 6, "job", 4711, 9, "node0", 3});
  for (auto const* entry :
       {"RANK=5", "LOCAL_RANK=1", "GROUP_RANK=2", "WORLD_SIZE=6", "LOCAL_WORLD_SIZE=2",
        "GROUP_WORLD_SIZE=3", "ROLE_RANK=5", "MASTER_ADDR=node0", "MASTER_PORT=4711"}) {
    CAPTURE(entry);
    CHECK(std::ranges::count(all, entry) == 1);
  }
}

TEST_CASE("the first failure decides the status, later ones and successes do not") {
  verdict job;
  job.ended({2, 20, exited(0)});
  CHECK(job.exit_status() == 0);
  CHECK_FALSE(job.first_failure().has_value());
  job.ended({1, 10, SIGSEGV});
  job.ended({0, 5, exited(7)});
  CHECK(job.exit_status() == 139);
  CHECK(job.first_failure().value().rank == 1);
  CHECK(shell_status(exited(7)) == 7);
}

TEST_CASE("the report of a failure has the rank, the command, the status and the last lines") {
  std::vector<std::string> const command{"./prog", "it's", "", "a b", "--x=1"};
  std::vector<std::string> const lines{"first", "second"};
  CHECK(failure_report({1, 42, SIGSEGV}, 4, command, lines) ==
        "hocket: rank 1 of 4 was ended by signal 11 (SIGSEGV, Segmentation fault) (process 42): "
        "./prog 'it'\\''s' '' 'a b' --x=1\n"
        "hocket: the last lines of its stderr:\n  first\n  second\n");
  CHECK(failure_report({0, 42, exited(3)}, 1, {command.data(), 1}, {}) ==
        "hocket: rank 0 of 1 exited with status 3 (process 42): ./prog\n"
        "hocket: it wrote nothing to stderr\n");
}
