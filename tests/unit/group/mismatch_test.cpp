// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <functional>
#include <hocket/tensor/split_plan.hpp>
#include <ranks.hpp>

#include "ending.hpp"

using namespace hocket;
using namespace hocket::test;
namespace asio = boost::asio;

namespace {

using call = std::function<work<>(process_group const&)>;

struct disagreement {
  disagreement(call a, call b, std::string d, std::string sa, std::string sb)
      : most(std::move(a)),
        one(std::move(b)),
        difference(std::move(d)),
        says_most(std::move(sa)),
        says_one(std::move(sb)) {}
  call most, one;
  std::string difference, says_most, says_one;
};

// All ranks but `odd` do one thing. Everybody gets the same story; the channel goes on.
asio::awaitable<void> disagree(world w, disagreement d, int odd) {
  auto const g = w.group();
  int const me = w.rank().value();
  co_await g.barrier();
  auto const called = me == odd ? d.one(g) : d.most(g);
  auto const e = co_await ended(called);
  CHECK(e.code == errc::mismatch);
  CHECK_MESSAGE(e.tells(d.difference), e.story);
  CHECK_MESSAGE(e.tells(d.says_most), e.story);
  CHECK_MESSAGE(e.tells("rank " + std::to_string(odd) + " " + d.says_one), e.story);
  CHECK_MESSAGE(e.tells("world[0,1,2] #1: "), e.story);
  CHECK_MESSAGE(e.tells("(mismatch_test.cpp:"), e.story);
  auto out = tensor::empty(dtype::i32, {w.size()});
  co_await g.all_gather(out, tensor::full(dtype::i32, {1}, me));
  for (int r = 0; r < w.size(); ++r) CHECK(out.item<std::int32_t>(r) == r);
}

void check(disagreement const& d) {
  for (int odd : {0, 1, 2}) run_ranks_everywhere(3, [=](world w) { return disagree(w, d, odd); });
}

tensor zeros(dtype t, shape const& s) { return tensor::zeros(t, s); }

asio::awaitable<void> out_of_step(world w) {
  auto const g = w.group();
  int const me = w.rank().value();
  auto out = zeros(dtype::f32, {w.size()});
  auto const in = zeros(dtype::f32, {1});
  co_await g.barrier();
  if (me == 1) {  // skips the gather
    auto const e = co_await ended(g.barrier());
    CHECK(e.code == errc::mismatch);
    CHECK_MESSAGE(e.tells("rank 1 barrier"), e.story);
    CHECK_MESSAGE(e.tells("all_gather f32[1]"), e.story);
    CHECK_MESSAGE(e.tells("#1"), e.story);
  } else {
    auto const gather = g.all_gather(out, in);
    auto const barrier = g.barrier();
    auto const message = g.recv(any_source);
    auto const e = co_await ended(gather);
    CHECK(e.code == errc::mismatch);
    CHECK_MESSAGE(e.tells("rank 1 barrier"), e.story);
    auto const next = co_await ended(barrier);
    CHECK(next.code == errc::desynchronised);
    CHECK_MESSAGE(next.tells("rank 1 barrier"), next.story);
    auto const lost = co_await ended(message);
    CHECK(lost.code == errc::desynchronised);
  }
  auto const later = co_await ended(g.all_gather(out, in));
  CHECK(later.code == errc::desynchronised);
  CHECK_MESSAGE(later.tells("rank 1 barrier"), later.story);
  co_await g.channel(1).barrier();  // other channels are not concerned
}

// Operations from before the point where the ranks went out of step still meet.
asio::awaitable<void> earlier_ones(world w) {
  auto const g = w.group();
  int const me = w.rank().value();
  auto const helper = g.channel(1);
  if (me == 2) {
    co_await helper.barrier();  // the other two have called both
    co_await g.barrier();
    auto const e = co_await ended(g.barrier());
    CHECK(e.code == errc::mismatch);
  } else {
    auto const good = g.barrier();
    auto t = zeros(dtype::f32, {2});
    auto const bad = me == 0 ? g.barrier() : g.broadcast(t, group_rank(0));
    auto const e = co_await ended(bad);
    CHECK(e.code == errc::mismatch);
    co_await helper.barrier();
    co_await work(good);
  }
}

// Only the root knows the shape, and gives nothing; another rank expects a tensor.
asio::awaitable<void> nothing_to_give(world w) {
  auto const g = w.group();
  if (w.rank().value() == 1) {
    auto t = zeros(dtype::f32, {3});
    auto const e = co_await ended(g.broadcast(t, group_rank(0)));
    CHECK(e.code == errc::mismatch);
  } else {
    auto const e = co_await ended(g.broadcast(std::optional<tensor>(), group_rank(0)));
    CHECK(e.code == errc::mismatch);
    CHECK_MESSAGE(e.tells("rank 0 has no tensor to give"), e.story);
  }
  co_await g.barrier();
}

}  // namespace

TEST_CASE("broadcasts of other shapes, dtypes or roots fail on all ranks and the group goes on") {
  auto const f32 = [](process_group const& g) {
    return g.broadcast(zeros(dtype::f32, {3, 4}), group_rank(0));
  };
  check({f32,
         [](process_group const& g) {
           return g.broadcast(zeros(dtype::f32, {4, 3}), group_rank(0));
         },
         "the shapes differ", "broadcast f32[3,4] root 0", "broadcast f32[4,3] root 0"});
  check({f32,
         [](process_group const& g) {
           return g.broadcast(zeros(dtype::f64, {3, 4}), group_rank(0));
         },
         "the dtypes differ", "broadcast f32[3,4]", "broadcast f64[3,4]"});
  check({f32,
         [](process_group const& g) {
           return g.broadcast(zeros(dtype::f32, {3, 4}), group_rank(2));
         },
         "the roots differ", "root 0", "broadcast f32[3,4] root 2"});
}

TEST_CASE("gathers and scatters of other sizes or plans fail on all ranks and the group goes on") {
  auto const gather = [](shape const& part) {
    return [part](process_group const& g) {
      auto whole = part;
      if (whole.size() == 0) {
        whole = shape(3);
      } else {
        whole.set(0, 3 * part[0]);
      }
      return g.all_gather(zeros(dtype::f32, whole), zeros(dtype::f32, part));
    };
  };
  check({gather({3, 4}), gather({}), "the s", "all_gather f32[3,4]", "all_gather f32[1]"});
  check({gather({409600}), gather({409598}), "the s", "all_gather f32[409600]",
         "all_gather f32[409598]"});
  auto const by_plan = [](layout how) {
    return [how](process_group const& g) {
      auto const plan = make_split_plan(how, 6, 3, 0);
      return g.all_gather_v(zeros(dtype::f32, {6}), zeros(dtype::f32, {2}), plan);
    };
  };
  check({by_plan(layout::balanced), by_plan(layout::zigzag), "the split plans differ",
         "(balanced 6 over 3", "all_gather f32[2] (zigzag 6 over 3"});
  auto const scatter = [](std::int64_t rows) {
    return [rows](process_group const& g) {
      auto const whole = g.rank().value() == 1 ? zeros(dtype::u8, {3 * rows}) : tensor();
      return g.scatter(zeros(dtype::u8, {rows}), whole, group_rank(1));
    };
  };
  check({scatter(2), scatter(5), "the shapes differ", "scatter", "scatter"});
}

TEST_CASE("a rank that skips a call is named at once and the channel says that it is out of step") {
  run_ranks_everywhere(4, out_of_step);
}
TEST_CASE("operations called before the ranks went out of step still complete") {
  run_ranks_everywhere(3, earlier_ones);
}
TEST_CASE("a root without a tensor fails the ranks that expect one") {
  run_ranks_everywhere(2, nothing_to_give);
}
