// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Who needs whom, and for how long, in virtual time.
#include <doctest/doctest.h>

#include <hocket/group/detail/group_core.hpp>
#include <string>
#include <vector>

#include "every_call.hpp"
#include "virtual_world.hpp"

using namespace hocket;
using namespace hocket::test;
using namespace std::chrono_literals;

namespace {

tensor number(int value) { return tensor::full(dtype::i32, {1}, value); }

std::vector<process_group> group_of(virtual_world& v, std::vector<int> const& members) {
  std::vector<work<process_group>> made;
  for (int const r : members) made.push_back(make_group(v.ranks()[r], rank_group::from(members)));
  std::vector<process_group> all;
  for (auto const& m : made) all.push_back(m.state()->take());
  return all;
}

}  // namespace

TEST_CASE("two ranks that both wait for their send get a deadline's error at every size alike") {
  for (std::int64_t const bytes : {0, 1, 65535, 65536, 65537, 6185592, 6185593}) {
    CAPTURE(bytes);
    virtual_world v(2);
    std::vector<work<>> sent;
    for (int r = 0; r < 2; ++r)
      sent.push_back(v.group(r).send(patterned(dtype::u8, {bytes}, r), group_rank(1 - r),
                                     op_options().deadline(1s)));
    v.pass(999ms);
    for (auto const& s : sent) CHECK_FALSE(s.ready());  // none counts as done because it is small
    v.pass(1ms);
    for (auto const& s : sent) CHECK(now(s).code == errc::timed_out);
    for (int r = 0; r < 2; ++r) {
      auto const got = v.group(r).recv(group_rank(1 - r));
      CHECK(equal(got.state()->take(), patterned(dtype::u8, {bytes}, 1 - r)));
    }
  }
}

TEST_CASE("the first messages of a group need their two ranks alone, and a collective then all") {
  virtual_world v(4);
  auto const g = group_of(v, {0, 1, 2, 3});
  auto const sent = g[1].send(number(12), group_rank(2));
  auto const got = g[2].recv(group_rank(1));
  CHECK_FALSE(now(sent).code);
  CHECK(got.state()->take().item<std::int32_t>(0) == 12);
  auto const early = g[3].recv(group_rank(0));
  CHECK_FALSE(early.ready());
  g[0].send(number(3), group_rank(3));
  CHECK(early.state()->take().item<std::int32_t>(0) == 3);
  std::vector<work<>> met;
  for (auto const& each : g) {
    for (auto const& m : met) CHECK_FALSE(m.ready());
    met.push_back(each.barrier());
  }
  for (auto const& m : met) CHECK_FALSE(now(m).code);
}

TEST_CASE("ranks that wait for an idle root without a deadline outwait the group's, and its end") {
  virtual_world v(3, 1s);
  std::vector<work<std::optional<tensor>>> waits;
  for (int r : {1, 2})
    waits.push_back(
        v.group(r).broadcast(std::optional<tensor>(), group_rank(0), op_options().no_deadline()));
  v.pass(3s);
  v.pass(14h);
  for (auto const& w : waits) CHECK_FALSE(w.ready());
  auto const given = v.group(0).broadcast(std::optional<tensor>(number(8)), group_rank(0));
  CHECK_FALSE(now(given).code);
  for (auto const& w : waits) CHECK(w.state()->take()->item<std::int32_t>(0) == 8);
  auto const next =
      v.group(1).broadcast(std::optional<tensor>(), group_rank(0), op_options().no_deadline());
  v.pass(1h);
  v.group(0).core()->endpoint->leave(errc::peer_lost, "killed");
  CHECK(now(next).code == errc::peer_lost);
  CHECK_MESSAGE(now(next).tells("rank 0"), now(next).story);
}

TEST_CASE("operations of a sub-group before it make no false mismatch, and the missing are exact") {
  virtual_world v(5);
  auto const g = group_of(v, {0, 1, 2, 3, 4});
  auto const pair = group_of(v, {4, 1});
  for (int i = 0; i < 3; ++i) {
    pair[0].barrier();
    CHECK(pair[1].barrier().ready());
  }
  g[3].channel(9).send(number(1), group_rank(0));
  std::vector<work<>> called;
  for (std::size_t r : {0U, 1U, 3U}) called.push_back(g[r].barrier(op_options().deadline(1s)));
  v.pass(1s);
  for (auto const& w : called) {
    CHECK(now(w).code == errc::timed_out);
    CHECK_MESSAGE(now(w).tells("#0 barrier"), now(w).story);
    CHECK_MESSAGE(now(w).tells("not called by rank 2, rank 4"), now(w).story);
    CHECK_FALSE(now(w).tells("rank 1,"));
  }
  g[2].barrier();
  CHECK(g[4].barrier().ready());
}

TEST_CASE("a rank that skips one of many equal calls is the one that is named in the end") {
  virtual_world v(3);
  std::vector<std::vector<work<>>> called(3);
  for (int i = 0; i < 5; ++i)
    for (int r = 0; r < 3; ++r)
      if (r != 1 || i != 2)
        called[static_cast<std::size_t>(r)].push_back(v.group(r).all_gather(
            tensor::zeros(dtype::i32, {3}), number(r), op_options().deadline(1s)));
  v.pass(1s);
  for (std::size_t r : {0U, 2U}) {
    for (std::size_t i = 0; i < 4; ++i) CHECK_FALSE(now(called[r][i]).code);
    auto const e = now(called[r][4]);
    CHECK(e.code == errc::timed_out);
    CHECK_MESSAGE(e.tells("#4 all_gather"), e.story);
    CHECK_MESSAGE(e.tells("not called by rank 1"), e.story);
  }
}

TEST_CASE("two groups of the same ranks, used in opposite orders, do not wait for each other") {
  virtual_world v(2);
  auto const a = group_of(v, {0, 1});
  auto const b = group_of(v, {0, 1});
  std::vector<tensor> outs;
  std::vector<work<>> done;
  auto const gather = [&](process_group const& g, int value) {
    outs.push_back(tensor::zeros(dtype::i32, {2}));
    done.push_back(g.all_gather(outs.back(), number(value)));
  };
  gather(a[0], 1);
  gather(b[0], 2);
  gather(b[1], 20);
  CHECK(done[1].ready());  // although the first call of both is still open
  CHECK_FALSE(done[0].ready());
  gather(a[1], 10);
  for (auto const& d : done) CHECK_FALSE(now(d).code);
  CHECK(outs[0].item<std::int32_t>(1) == 10);
  CHECK(outs[1].item<std::int32_t>(1) == 20);
  CHECK(outs[2].item<std::int32_t>(0) == 2);
  CHECK(outs[3].item<std::int32_t>(0) == 1);
}

TEST_CASE("a group whose making is cancelled by one member can be made again by all") {
  virtual_world v(3);
  auto const members = rank_group::of(0, 1, 2);
  auto const options = group_options().name("retried");
  auto const given_up = make_group(v.ranks()[0], members, options);
  auto const waits = make_group(v.ranks()[1], members, options);
  given_up.get_canceller().cancel();
  CHECK(now(given_up).code == boost::asio::error::operation_aborted);
  CHECK(now(waits).code == errc::peer_failed);
  CHECK_MESSAGE(now(waits).tells("rank 0 gave up waiting for group retried"), now(waits).story);
  auto const late = make_group(v.ranks()[2], members, options);
  CHECK(now(late).code == errc::peer_failed);
  std::vector<work<process_group>> again;
  for (int r = 0; r < 3; ++r) again.push_back(make_group(v.ranks()[r], members, options));
  for (auto const& w : again) CHECK_FALSE(now(w).code);
}
