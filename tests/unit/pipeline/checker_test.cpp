// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// What stands against a schedule is spelled out with the actions.
#include <doctest/doctest.h>

#include <cmath>
#include <hocket/pipeline/checker.hpp>
#include <hocket/pipeline/communication.hpp>
#include <hocket/pipeline/make_schedule.hpp>
#include <hocket/pipeline/prediction.hpp>
#include <hocket/pipeline/schedule_csv.hpp>
#include <limits>

#include "refusal.hpp"

using namespace hocket;
using test::refusal;

namespace {

std::string verdict(std::string_view csv) {
  auto const plan = schedule_from_csv(csv);
  return refusal([&] {
    check(plan);
    return 0;
  });
}

// All but one action.
schedule without(schedule const& plan, int rank, std::size_t index) {
  std::vector<std::vector<action>> lists;
  for (int r = 0; r < plan.ranks(); ++r) {
    auto const all = plan.actions(r);
    lists.emplace_back(all.begin(), all.end());
  }
  auto& list = lists[static_cast<std::size_t>(rank)];
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(index));
  auto const placement = plan.placement();
  return {plan.name(), {placement.begin(), placement.end()}, plan.microbatches(), lists};
}

}  // namespace

TEST_CASE("a missing or double action is named") {
  CHECK(verdict("0F0,0F1\n1F0\n") == "1F1 is missing: rank 1 never runs stage 1 for microbatch 1");
  CHECK(verdict("0F0,0F1\n1F1\n") == "1F0 is missing: rank 1 never runs stage 1 for microbatch 0");
  CHECK(verdict("0F0,0F0\n1F0\n") == "0F0 is there twice on rank 0: actions 0 and 1");
  CHECK(verdict("0F0,0B0,0F1\n") ==
        "0B1 (or I and W) is missing: rank 0 never runs the backward of stage 0 for microbatch 1");
  CHECK(verdict("0F0,0I0\n") == "0I0 (action 1 of rank 0) has no 0W0 on rank 0");
  CHECK(verdict("0F0,0W0\n") == "0W0 (action 1 of rank 0) has no 0I0 on rank 0");
  CHECK(verdict("0F0,0B0,0W0\n") ==
        "0B0 (action 1 of rank 0) and 0W0 (action 2 of rank 0) both: B is I and W");
}

TEST_CASE("numbers that an import makes up are found missing without a table of them") {
  CHECK(verdict("0F1000000\n") == "0F0 is missing: rank 0 never runs stage 0 for microbatch 0");
  std::string wide = "0F1000000";
  for (int s = 1; s < 1000; ++s) wide += "," + std::to_string(s) + "F0";
  CHECK(verdict(wide) == "0F0 is missing: rank 0 never runs stage 0 for microbatch 0");
}

TEST_CASE("a message without its other end is named") {
  CHECK(verdict("0F0,0SEND_F0\n1F0\n") ==
        "0SEND_F0 (action 1 of rank 0) has no 1RECV_F0 on rank 1");
  CHECK(verdict("0F0\n1RECV_F0,1F0\n") ==
        "1RECV_F0 (action 0 of rank 1) has no 0SEND_F0 on rank 0");
  CHECK(verdict("0F0,0F1,0SEND_F1\n1RECV_F1,1F0,1F1\n") ==
        "0SEND_F0 on rank 0 and 1RECV_F0 on rank 1 are missing");
  CHECK(verdict("0F0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n") ==
        "1SEND_B0 (action 3 of rank 1) has no 0RECV_B0 on rank 0");
  CHECK(verdict("0F0,0SEND_F0\n1RECV_F0,1F0,1SEND_F0\n") ==
        "1SEND_F0 (action 2 of rank 1): there is no stage after it, of 2 stages");
  CHECK(verdict("0RECV_F0,0F0\n") ==
        "0RECV_F0 (action 0 of rank 0): there is no stage before it, of 1 stages");
  CHECK(verdict("0F0,0SEND_F0,1F0\n") ==
        "0SEND_F0 (action 1 of rank 0): stages 0 and 1 are both on rank 0 and exchange no "
        "messages");
  CHECK(verdict("0F0,0SEND_F0,0RECV_B0\n1RECV_F0,1F0,1SEND_B0\n") ==
        "0RECV_B0 (action 2 of rank 0): there is no backward");
}

TEST_CASE("an action before what it needs is named with its place") {
  CHECK(verdict("0B0,0F0\n") ==
        "0B0 (action 0 of rank 0) needs 0F0, which comes after it (action 1)");
  CHECK(verdict("0SEND_F0,0F0\n1RECV_F0,1F0\n") ==
        "0SEND_F0 (action 0 of rank 0) needs 0F0, which comes after it (action 1)");
  CHECK(verdict("0F0,0W0,0I0\n") ==
        "0W0 (action 1 of rank 0) needs 0I0, which comes after it (action 2)");
  CHECK(verdict("1F0,0F0\n") ==
        "1F0 (action 0 of rank 0) needs 0F0, which comes after it (action 1)");
}

TEST_CASE("ranks that wait for each other are listed with what each waits for") {
  CHECK(verdict("0RECV_B0,0F0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n") ==
        "2 ranks wait for each other: rank 0 at 0RECV_B0 (action 0) for 1SEND_B0 (action 3 of "
        "rank 1); rank 1 at 1RECV_F0 (action 0) for 0SEND_F0 (action 2 of rank 0)");
  // Rank 2 waits too, but it is not part of the cycle.
  CHECK(verdict("0F0,0B1,0F1,0B0\n1F1,1B1,1F0,1B0\n2F0,2B0,2F1,2B1\n")
            .starts_with("0B1 (action 1 of rank 0) needs 0F1"));
  CHECK(verdict("0F0,0B0,0F1,0B1\n1F1,1F0,1B1,1B0\n") ==
        "2 ranks wait for each other: rank 0 at 0B0 (action 1) for 1B0 (action 3 of rank 1); rank "
        "1 at 1F1 (action 0) for 0F1 (action 2 of rank 0)");
}

TEST_CASE("many ranks that wait for one another's last actions are checked in linear time") {
  // Ranks 0 and 1 hand 300 microbatches to and fro; 3,000 others wait for the last of them.
  constexpr int microbatches = 300;
  constexpr int others = 3000;
  std::string text;
  for (int const rank : {0, 1}) {
    for (int m = 0; m < microbatches; ++m)
      for (int s = rank; s < 20; s += 2) text += std::to_string(s) + "F" + std::to_string(m) + ",";
    text += "\n";
  }
  for (int s = 20; s < 20 + others; ++s) {
    for (int m = microbatches; m-- > 0;) text += std::to_string(s) + "F" + std::to_string(m) + ",";
    text += "\n";
  }
  CHECK_NOTHROW(check(schedule_from_csv(text)));
}

TEST_CASE("whatever action is taken out of a schedule, the checker says so") {
  for (auto const name : schedule_names())
    for (int const p : {1, 3})
      for (bool const comms : {false, true}) {
        auto plan = make_schedule(name, p, 3);
        if (comms) plan = with_communication(plan);
        for (int r = 0; r < p; ++r)
          for (std::size_t i = 0; i < plan.actions(r).size(); ++i) {
            CAPTURE(to_string(plan.actions(r)[i]));
            CHECK_THROWS_AS(check(without(plan, r, i)), error);
          }
      }
}

TEST_CASE("user-defined actions stand where they like") {
  CHECK_NOTHROW(check(schedule_from_csv("0UNSHARD,0F0,0RESHARD,0F1\n1RESHARD,1F0,1F1,1RESHARD\n")));
}

TEST_CASE("costs stretch the run") {
  auto const plan = with_communication(make_schedule("forward", 3, 4));
  action_costs costs;
  costs.forward = 5;
  CHECK(predict(plan, costs).makespan == 30);
  costs.communication = 2;  // twice on the way of the first, hidden behind work after that
  CHECK(predict(plan, costs).makespan == 34);
  CHECK(predict(without_communication(plan), costs).makespan == 34);
  costs.last_microbatch = 0.5;
  CHECK(predict(plan, costs).makespan == 31.5);
  costs.forward = 0;
  costs.communication = 0;
  CHECK(predict(plan, costs).makespan == 0);
  CHECK(predict(plan, costs).bubble == 0);
  auto const step = schedule_from_csv("0F0,0LOG,0F1\n", "csv", std::vector<std::string>{"LOG"});
  action_costs logging;
  logging.user = 4;
  CHECK(predict(step, logging).makespan == 6);
  CHECK(predict(step, logging).bubble == 0);
}

TEST_CASE("costs that are no times are refused") {
  auto const plan = make_schedule("1f1b", 2, 2);
  for (double const bad : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    action_costs costs;
    costs.backward = bad;
    CHECK_THROWS_AS(static_cast<void>(predict(plan, costs)), error);
  }
  action_costs huge;  // their sum is no number any more
  huge.forward = huge.backward = 1e308;
  CHECK_THROWS_AS(static_cast<void>(predict(plan, huge)), error);
}

TEST_CASE("the timeline has a span for each action, in order and without overlap") {
  auto const plan = with_communication(make_schedule("zbv", 4, 6));
  auto const run = predict(plan);
  for (int r = 0; r < plan.ranks(); ++r) {
    auto const& spans = run.timeline[static_cast<std::size_t>(r)];
    REQUIRE(spans.size() == plan.actions(r).size());
    double now = 0;
    for (auto const& s : spans) {
      CHECK(s.begin >= now);
      CHECK(s.end >= s.begin);
      now = s.end;
    }
    CHECK(run.busy[static_cast<std::size_t>(r)] == 36);
  }
}
