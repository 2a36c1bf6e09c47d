// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Every known schedule over 1 to 8 ranks and 1 to 17 microbatches, proved and foretold.
#include <doctest/doctest.h>

#include <algorithm>
#include <hocket/pipeline/checker.hpp>
#include <hocket/pipeline/communication.hpp>
#include <hocket/pipeline/make_schedule.hpp>
#include <hocket/pipeline/prediction.hpp>

#include "refusal.hpp"

using namespace hocket;
using test::refusal;

namespace {

template <class Visit>
void for_all_sizes(Visit const& visit) {
  for (int p = 1; p <= 8; ++p)
    for (int m = 1; m <= 17; ++m) {
      CAPTURE(p);
      CAPTURE(m);
      visit(p, m);
    }
}

double bubble_of(std::string_view name, int p, int m, int v = 0) {
  return predict(make_schedule(name, p, m, v)).bubble;
}

// Idle steps over all steps of a rank.
doctest::Approx share(int idle, int all) {
  return doctest::Approx(static_cast<double>(idle) / all).epsilon(1e-12);
}

std::string line(schedule const& plan, int rank) {
  std::string text;
  for (auto const& a : plan.actions(rank)) text += (text.empty() ? "" : " ") + to_string(a);
  return text;
}

}  // namespace

TEST_CASE("every schedule passes the checker at every size, with and without communication") {
  for (auto const name : schedule_names()) {
    CAPTURE(name);
    for_all_sizes([&](int p, int m) {
      auto const plan = make_schedule(name, p, m);
      auto const whole = with_communication(plan);
      CHECK(plan.ranks() == p);
      CHECK(plan.microbatches() == m);
      auto const alone = predict(plan);
      auto const run = predict(whole);
      CHECK(run.makespan == alone.makespan);
      CHECK(run.peak_activations == alone.peak_activations);
      CHECK(whole.has_communication() == (p > 1));
      CHECK(without_communication(whole) == plan);
      CHECK(with_communication(whole) == whole);
    });
  }
}

TEST_CASE("more stages a rank pass as well") {
  for (auto const name : {"forward", "interleaved-1f1b", "looped-bfs"})
    for (int const v : {2, 3, 5})
      for_all_sizes([&](int p, int m) {
        auto const plan = make_schedule(name, p, m, v);
        CHECK(plan.stages() == p * v);
        CHECK_NOTHROW(check(with_communication(plan)));
      });
}

TEST_CASE("forward, gpipe and 1f1b wait (p-1)/(m+p-1) of the time") {
  for (auto const name : {"forward", "gpipe", "1f1b"})
    for_all_sizes([&](int p, int m) { CHECK(bubble_of(name, p, m) == share(p - 1, m + p - 1)); });
}

TEST_CASE("interleaved over v stages a rank waits (p-1)/(vm+p-1) if p divides m") {
  for (int const v : {2, 3, 4})
    for_all_sizes([&](int p, int m) {
      if (m % p != 0) return;
      CHECK(bubble_of("interleaved-1f1b", p, m, v) == share(p - 1, v * m + p - 1));
      CHECK(bubble_of("looped-bfs", p, m, v) == share(p - 1, v * m + p - 1));
      CHECK(bubble_of("forward", p, m, v) == share(p - 1, v * m + p - 1));
    });
}

TEST_CASE("zb-h1 waits (p-1)/(3m+p-1) from m = p on, and keeps no more than 1f1b's first stage") {
  for_all_sizes([&](int p, int m) {
    auto const run = predict(make_schedule("zb-h1", p, m));
    if (m >= p) CHECK(run.bubble == share(p - 1, 3 * m + p - 1));
    CHECK(std::ranges::max(run.peak_activations) <= std::min(p, m));
  });
}

TEST_CASE("zbv and dualpipev wait less than 1f1b from m = 2p on") {
  for (auto const name : {"zbv", "dualpipev"})
    for_all_sizes([&](int p, int m) {
      if (p > 1 && m >= 2 * p) CHECK(bubble_of(name, p, m) < bubble_of("1f1b", p, m));
      if (p == 1) CHECK(bubble_of(name, p, m) == 0);
    });
}

TEST_CASE("a rank keeps what its schedule promises") {
  CHECK(predict(make_schedule("gpipe", 4, 8)).peak_activations == std::vector{8, 8, 8, 8});
  CHECK(predict(make_schedule("1f1b", 4, 8)).peak_activations == std::vector{4, 3, 2, 1});
  CHECK(predict(make_schedule("forward", 3, 8)).peak_activations == std::vector{1, 1, 1});
  // On a V a rank's two stages, each half as large as one of 1f1b, keep about twice as many.
  for (auto const name : {"zbv", "dualpipev"}) {
    auto const peaks = predict(make_schedule(name, 4, 12)).peak_activations;
    for (std::size_t r = 0; r < 4; ++r) CHECK(peaks[r] + peaks[7 - r] <= 9);
  }
}

TEST_CASE("the orders are those that their names stand for") {
  CHECK(line(make_schedule("1f1b", 2, 3), 0) == "0F0 0F1 0B0 0F2 0B1 0B2");
  CHECK(line(make_schedule("1f1b", 2, 3), 1) == "1F0 1B0 1F1 1B1 1F2 1B2");
  CHECK(line(make_schedule("zb-h1", 2, 3), 1) == "1F0 1I0 1F1 1I1 1W0 1F2 1I2 1W1 1W2");
  CHECK(line(make_schedule("interleaved-1f1b", 2, 2), 1) == "1F0 1F1 3F0 3B0 3F1 3B1 1B0 1B1");
  CHECK(line(make_schedule("looped-bfs", 2, 2), 0) == "0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1");
  CHECK(line(make_schedule("zbv", 1, 2), 0) == "0F0 1F0 1I0 1W0 0F1 0I0 0W0 1F1 1I1 1W1 0I1 0W1");
  CHECK(line(with_communication(make_schedule("1f1b", 3, 1)), 1) ==
        "1RECV_F0 1F0 1SEND_F0 1RECV_B0 1B0 1SEND_B0");
  // The last rank of a V turns round without a message.
  CHECK(line(with_communication(make_schedule("dualpipev", 2, 1)), 1) ==
        "1RECV_F0 1F0 2F0 2SEND_F0 2RECV_B0 2B0 1B0 1SEND_B0");
}

TEST_CASE("a name or number that no schedule has is refused") {
  auto const why = [](char const* name, int p, int m, int v = 0) {
    return refusal([&] { return make_schedule(name, p, m, v); });
  };
  CHECK(why("2f2b", 4, 8) ==
        "\"2f2b\" is not a schedule; the schedules are forward, gpipe, 1f1b, interleaved-1f1b, "
        "looped-bfs, zb-h1, zbv, dualpipev");
  CHECK(why("1f1b", 0, 8) == "1f1b with 0 ranks and 8 microbatches: it takes at least one of each");
  CHECK(why("1f1b", 4, -1) ==
        "1f1b with 4 ranks and -1 microbatches: it takes at least one of each");
  CHECK(why("1f1b", 4, 8, 2) ==
        "2 stages on a rank: 1f1b puts 1 there; interleaved-1f1b takes more");
  CHECK(why("zbv", 4, 8, 3) == "3 stages on a rank: zbv puts 2 there");
  CHECK(why("interleaved-1f1b", 4, 8, 1) ==
        "1 stages on a rank: interleaved-1f1b puts 2 or more there; 1f1b is for one");
  for (auto const name : schedule_names()) {
    CAPTURE(name);
    CHECK_THROWS_AS(static_cast<void>(make_schedule(name, 2147483647, 1)), error);
    CHECK_THROWS_AS(static_cast<void>(make_schedule(name, 1, 2147483647)), error);
    CHECK_THROWS_AS(static_cast<void>(make_schedule(name, 2147483647, 2147483647)), error);
  }
}
