// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Schedules in the text form of torch.distributed.pipelining; the text may be anything.
#include <doctest/doctest.h>

#include <hocket/pipeline/checker.hpp>
#include <hocket/pipeline/communication.hpp>
#include <hocket/pipeline/make_schedule.hpp>
#include <hocket/pipeline/schedule_csv.hpp>
#include <random>

#include "long_mode.hpp"
#include "refusal.hpp"

using namespace hocket;
using test::refusal;

namespace {
std::string why(std::string const& text, errc code = errc::invalid_argument) {
  return refusal([&] { return schedule_from_csv(text); }, code);
}
}  // namespace

TEST_CASE("a schedule comes back from either form") {
  for (auto const name : schedule_names())
    for (int const p : {1, 2, 3, 5})
      for (int const m : {1, 4, 7}) {
        auto const plan = make_schedule(name, p, m);
        auto const title = std::string(name);
        CHECK(schedule_from_csv(to_csv(plan, csv_form::compute_only), title) == plan);
        CHECK(schedule_from_csv(to_csv(plan), title) == with_communication(plan));
        CHECK(to_csv(with_communication(plan), csv_form::compute_only) ==
              to_csv(plan, csv_form::compute_only));
      }
}

TEST_CASE("compute_only has a column for each step and empty cells where a rank waits") {
  CHECK(to_csv(make_schedule("1f1b", 3, 2), csv_form::compute_only) ==
        "0F0,0F1,,,,0B0,,0B1\n"
        ",1F0,1F1,,1B0,,1B1\n"
        ",,2F0,2B0,2F1,2B1\n");
  CHECK(to_csv(make_schedule("1f1b", 2, 1)) ==
        "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n");
}

TEST_CASE("what other writers make of the form is read too") {
  auto const plan = schedule_from_csv("0F0,0F1\n1F0,1F1\n");
  CHECK(schedule_from_csv("0F0,0F1\r\n,1F0,1F1\r\n") == plan);
  CHECK(schedule_from_csv("\xEF\xBB\xBF 0F0 ,\t0F1,,,\n1F0,,1F1\n\n \n") == plan);
  CHECK(schedule_from_csv("\"0F0\",\"0F1\"\n\"1F0\",\"\",\"1F1\"") == plan);
  auto const pair = schedule_from_csv("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n");
  CHECK(pair == schedule_from_csv("0F0,0F1,0B0,0B1\n"));
  auto const sharded = schedule_from_csv("0UNSHARD,0F0,0B0,0RESHARD,0REDUCE_GRAD\n");
  CHECK(sharded.actions(0)[0] == action(0, "UNSHARD"));
  CHECK_NOTHROW(check(sharded));
}

TEST_CASE("a bad text is refused with line and column") {
  CHECK(why("") == "there is no action in the text");
  CHECK(why(" \n,\n").starts_with("line 1, column "));
  CHECK(why("0F0\n\n1F0\n") == "line 2, column 1: the line of a rank has no action");
  CHECK(why("0F0,0F1\n1F0, 1F\n") == "line 2, column 6: \"1F\" has no microbatch behind F");
  CHECK(why("0F0,1RECVF0\n") ==
        "line 1, column 5: \"1RECVF0\": RECVF is not an action; the actions are F, B, I, W, "
        "SEND_F, RECV_F, SEND_B, RECV_B, UNSHARD, RESHARD, REDUCE_GRAD");
  CHECK(why("0F0\n1F0,0F1\n") == "line 2, column 5: \"0F1\": stage 0 is on rank 0 (line 1)");
  CHECK(why("0F0\n2F0\n") == "stage 1 is on no line, but stage 2 is on line 2");
  CHECK(why("0F1048576\n", errc::too_large) ==
        "line 1, column 1: \"0F1048576\": stages and microbatches are below 1048576");
  CHECK(why("0UNSHARD\n") == "no action of the text has a microbatch");
  CHECK(why("0F0,(0F1;0B0)OVERLAP\n") ==
        "line 1, column 5: actions in brackets are written as (0F1;3B0)OVERLAP_F_B");
  CHECK(why("0F0,(0F1;0B)OVERLAP_F_B\n") == "line 1, column 10: \"0B\" has no microbatch behind B");
  CHECK(why("0F0;0F1").starts_with("line 1, column 1: \"0F0;0F1\" has more than"));
  CHECK(why(std::string("0F0\0,0F1", 8)).starts_with("line 1, column 1: \"0F0\\x00\""));
  CHECK(why(std::string(csv_bytes_max + 1, ','), errc::too_large) ==
        "67108865 bytes are more than 67108864");
}

TEST_CASE("mutated text ends in a schedule or in a typed error, and check in a verdict") {
  int const rounds = test::is_long_mode() ? 300'000 : 6000;
  std::mt19937 random(20260);
  auto const below = [&](std::size_t n) { return random() % n; };
  std::string const alphabet = "0123456789FBIWSENDRCV_,;()\n\r\" \xEF\xBB\xBF";
  int read = 0;
  int proved = 0;
  for (int round = 0; round < rounds; ++round) {
    auto const name = schedule_names()[below(schedule_names().size())];
    auto const form = below(2) == 0 ? csv_form::compute_only : csv_form::compute_comms;
    auto text = to_csv(
        make_schedule(name, static_cast<int>(1 + below(4)), static_cast<int>(1 + below(4))), form);
    for (std::size_t edits = below(4); edits-- > 0;) {
      auto const at = below(text.size());
      switch (below(4)) {
        case 0:
          text[at] = alphabet[below(alphabet.size())];
          break;
        case 1:
          text.insert(at, 1, alphabet[below(alphabet.size())]);
          break;
        case 2:
          text.erase(at, 1 + below(6));
          break;
        default:
          text.insert(at, text.substr(below(text.size()), below(9)));
      }
      if (text.empty()) text = "0";
    }
    try {
      auto const plan = schedule_from_csv(text);
      ++read;
      check(plan);
      CHECK_NOTHROW(check(with_communication(plan)));
      ++proved;
    } catch (error const& e) {
      CHECK(e.code().category() == hocket_category());
      CHECK(std::string_view(e.what()).size() < 2000);
    }
  }
  CHECK(proved > rounds / 4);  // a quarter has no edit
  CHECK(read > proved);
}
