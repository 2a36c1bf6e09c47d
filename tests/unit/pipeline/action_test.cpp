// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <hocket/pipeline/schedule.hpp>

#include "refusal.hpp"

using namespace hocket;
using test::refusal;

TEST_CASE("an action is read from its text and written as it was") {
  auto const a = action::parse("12SEND_F345");
  CHECK(a == action(12, action_kind::send_forward, 345));
  CHECK(a.peer_stage() == 13);
  CHECK(a.is_send());
  CHECK(!a.is_compute());
  CHECK(action::parse("2RECV_F0").peer_stage() == 1);
  CHECK(action::parse("2RECV_B0").peer_stage() == 3);
  CHECK(action::parse("2SEND_B0").peer_stage() == 1);
  for (auto const text : {"0F0", "1B2", "3I4", "5W6", "0SEND_F1", "1RECV_F1", "1SEND_B1",
                          "0RECV_B1", "7UNSHARD", "7step_b9", "2147483647F2147483647"}) {
    CHECK(to_string(action::parse(text)) == text);
  }
}

TEST_CASE("a name that is none of the known ones is a user-defined action") {
  auto const a = action::parse("1UNSHARD");
  CHECK(a.kind() == action_kind::user);
  CHECK(a.name() == "UNSHARD");
  CHECK(a.microbatch() == action::no_microbatch);
  CHECK(a == action(1, "UNSHARD"));
  CHECK(action::parse("1LOG4") == action(1, "LOG", 4));
  CHECK(!a.is_compute());
  CHECK(!a.is_communication());
}

TEST_CASE("text that is no action is refused with the reason") {
  auto const why = [](char const* text) { return refusal([&] { return action::parse(text); }); };
  CHECK(why("") == "\"\" does not begin with a stage; an action is written as 2F0");
  CHECK(why("F0") == "\"F0\" does not begin with a stage; an action is written as 2F0");
  CHECK(why("-1F0") == "\"-1F0\" does not begin with a stage; an action is written as 2F0");
  CHECK(why("12") == "\"12\" has no name behind the stage; an action is written as 2F0");
  CHECK(why("2F") == "\"2F\" has no microbatch behind F");
  CHECK(why("2F0x") ==
        "\"2F0x\" has more than a microbatch behind the name; an action is written as 2F0");
  CHECK(why("2F 0") ==
        "\"2F 0\" has more than a microbatch behind the name; an action is written as 2F0");
  CHECK(why("2147483648F0") == "\"2147483648F0\" has a stage that does not fit into 31 bits");
  CHECK(why("0F99999999999999999999") ==
        "\"0F99999999999999999999\" has a microbatch that does not fit into 31 bits");
  CHECK(why("0F\x01\xff") ==
        "\"0F\\x01\\xff\" has more than a microbatch behind the name; an "
        "action is written as 2F0");
  CHECK(why("0aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa0").find("is not 1 to 32 letters") !=
        std::string::npos);
}

TEST_CASE("an action made of numbers is checked as its text is") {
  CHECK_THROWS_AS(action(-1, action_kind::forward, 0), error);
  CHECK_THROWS_AS(action(0, action_kind::forward, -1), error);
  CHECK_THROWS_AS(action(0, action_kind::user, 0), error);
  CHECK_THROWS_AS(action(0, "SEND_F", 0), error);
  CHECK_THROWS_AS(action(0, "", 0), error);
  CHECK_THROWS_AS(action(0, "A1", 0), error);
  CHECK_THROWS_AS(action(0, "LOG", -2), error);
}

TEST_CASE("a schedule whose parts do not fit together is refused") {
  auto const why = [](std::vector<int> placement, int microbatches,
                      std::vector<std::vector<action>> lists) {
    return refusal([&] { return schedule("s", placement, microbatches, lists); });
  };
  action const f(0, action_kind::forward, 0);
  CHECK(why({}, 1, {{f}}) == "a schedule without stages");
  CHECK(why({0}, 1, {}) == "a schedule without ranks");
  CHECK(why({0}, 0, {{f}}) == "a schedule without microbatches");
  CHECK(why({0}, -3, {{f}}) == "a schedule without microbatches");
  CHECK(why({1}, 1, {{f}}) == "stage 0 is on rank 1 of 1");
  CHECK(why({0, 1}, 1, {{}, {f}}) == "0F0, action 0 of rank 1: stage 0 is on rank 0");
  CHECK(why({0}, 1, {{f, action(1, action_kind::forward, 0)}}) ==
        "1F0, action 1 of rank 0: there are 1 stages");
  CHECK(why({0}, 1, {{action(0, action_kind::forward, 1)}}) ==
        "0F1, action 0 of rank 0: there are 1 microbatches");
}

TEST_CASE("a schedule tells what it holds") {
  schedule const plan("mine", {0, 1, 1, 0}, 1,
                      {{action::parse("0F0"), action::parse("0SEND_F0"), action::parse("3F0")},
                       {action::parse("1F0"), action::parse("2F0")}});
  CHECK(plan.ranks() == 2);
  CHECK(plan.stages() == 4);
  CHECK(plan.stages_of(0) == std::vector{0, 3});
  CHECK(plan.stages_of(1) == std::vector{1, 2});
  CHECK(plan.size() == 5);
  CHECK(plan.has_communication());
  CHECK(!plan.has_backward());
  CHECK_THROWS_AS(static_cast<void>(plan.rank_of(4)), error);
  CHECK_THROWS_AS(static_cast<void>(plan.actions(2)), error);
}
