// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// get(): a thread that blocks, beside a runtime with a thread and one without.
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <future>
#include <hocket/async/promise.hpp>
#include <hocket/async/seeded_context.hpp>
#include <hocket/async/when_all.hpp>
#include <hocket/async/when_any.hpp>
#include <hocket/group/batch.hpp>
#include <hocket/group/local_world.hpp>
#include <hocket/group/process_group.hpp>
#include <vector>

#include "patterns.hpp"

using namespace hocket;
using namespace hocket::test;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

constexpr auto long_enough = 60s;

// The ranks of this thread; nobody runs their context, and no thread moves their bytes.
struct still_ranks {
  explicit still_ranks(int n) : world(ctx.get_executor(), n, local_world_options().runtime(rt)) {}
  asio::io_context ctx;
  runtime rt{runtime_options().thread(false)};
  local_world world;
};

// What get() throws.
template <class W>
std::pair<boost::system::error_code, std::string> failure_of(W const& w) {
  try {
    static_cast<void>(w.get(long_enough));
  } catch (error const& e) {
    return {e.code(), e.what()};
  }
  return {};
}

template <class W>
bool is_expired(W const& w) {  // by its own deadline, not by the limit of get()
  auto const [code, story] = failure_of(w);
  CHECK_MESSAGE(story.find("the operation goes on") == std::string::npos, story);
  return code == errc::timed_out;
}

auto const soon = [] { return op_options().deadline(3ms); };

}  // namespace

TEST_CASE(
    "one thread starts all ranks' operations and gets each of them, without a runtime thread") {
  still_ranks s(3);
  for (std::int64_t const n : {7, 300'001}) {
    std::vector<tensor> outs;
    std::vector<work<>> gathers;
    for (int r = 0; r < 3; ++r) {
      outs.push_back(tensor::zeros(dtype::i32, {3 * n}));
      gathers.push_back(s.world[r].group().all_gather(outs.back(), patterned(dtype::i32, {n}, r)));
    }
    for (int r = 0; r < 3; ++r) {
      gathers[static_cast<std::size_t>(r)].get(long_enough);
      auto const& out = outs[static_cast<std::size_t>(r)];
      for (int from = 0; from < 3; ++from)
        CHECK(equal(out.slice(0, from * n, n), patterned(dtype::i32, {n}, from)));
    }
  }
}

TEST_CASE("get() runs no handler of the user") {
  still_ranks s(2);
  auto const w = s.world[0].group().barrier();
  bool called = false;
  w.async_wait([&](boost::system::error_code) { called = true; });
  auto const other = s.world[1].group().barrier();
  w.get(long_enough);
  CHECK_FALSE(called);
  s.ctx.run();
  CHECK(called);
}

TEST_CASE("get() brings the deadlines of a runtime without a thread, and says who is missing") {
  still_ranks s(2);
  auto const g = s.world[0].group();
  auto const [code, story] = failure_of(g.barrier(soon()));
  CHECK(code == errc::timed_out);
  CHECK_MESSAGE(story.find("rank 1") != std::string::npos, story);
}

TEST_CASE("get() drives also what follows or combines operations") {
  still_ranks s(2);
  auto const g = s.world[0].group();
  auto const tagged = [&](std::uint64_t tag) { return g.recv(group_rank(1), soon().tag(tag)); };
  CHECK(is_expired(when_all(tagged(1), tagged(2))));
  std::vector<work<tensor>> several;
  several.push_back(tagged(3));
  several.push_back(tagged(4));
  CHECK(is_expired(when_all(several)));
  CHECK(is_expired(when_any(tagged(5), tagged(6))));
  batch b;
  b.recv(group_rank(1), soon().tag(7));
  CHECK(is_expired(g.run(std::move(b))));
  CHECK(failure_of(event(tagged(8)).wait()).first == asio::error::operation_aborted);
  CHECK_NOTHROW(tagged(9).released().get(long_enough));  // withdrawn, so its buffer is free
  CHECK(is_expired(g.recv_object<int>(group_rank(1), soon().tag(10))));
  CHECK(is_expired(make_group(s.world[0], rank_group::of(0, 1), group_options().deadline(3ms))));
}

TEST_CASE("get() drives the wait for a place in the window") {
  still_ranks s(2);
  auto const list = rank_group::of(0, 1);
  auto const narrow = group_options().window(1, 1 << 20);
  auto const mine = make_group(s.world[0], list, narrow);
  auto const theirs = make_group(s.world[1], list, narrow);
  auto const g = mine.get(long_enough);
  auto const kept = theirs.get(long_enough);
  auto const first = g.recv(group_rank(1), soon());
  auto const second = g.recv(group_rank(1));
  auto const posted = second.posted();
  CHECK_FALSE(posted.ready());
  auto const ahead = first.released();
  when_all(ahead, posted).get(long_enough);
  CHECK_FALSE(second.ready());
}

TEST_CASE("get() past its limit leaves the operation alone, with and without a runtime thread") {
  for (bool const thread : {true, false}) {
    asio::io_context ctx;
    runtime rt(runtime_options().thread(thread));
    local_world ranks(ctx.get_executor(), 2, local_world_options().runtime(rt));
    auto const w = ranks[0].group().barrier();
    CHECK_THROWS_WITH_AS(w.get(2ms), doctest::Contains("no result after 2 ms"), error);
    auto const other = ranks[1].group().barrier();
    CHECK_NOTHROW(w.get(clock::duration::zero()));
  }
}

TEST_CASE("a thread in get() and one that completes the operation meet, without a runtime thread") {
  still_ranks s(2);
  for (int i = 0; i < 100; ++i) {
    auto const got = s.world[0].group().recv(group_rank(1));
    std::thread peer(
        [&] { s.world[1].group().send(tensor::full(dtype::i32, {3}, i), group_rank(0)); });
    CHECK(got.get(long_enough).item<std::int32_t>(2) == i);
    peer.join();
  }
}

TEST_CASE("get() inside a handler of any kind of context is errc::would_block") {
  auto const code_on = [](auto const& ex, auto run) {
    local_world ranks(ex, 2);
    auto const w = ranks[0].group().barrier();
    boost::system::error_code code;
    asio::post(ex, [&] { code = failure_of(w).first; });
    run();
    return code;
  };
  asio::io_context ctx;
  CHECK(code_on(ctx.get_executor(), [&] { ctx.run(); }) == errc::would_block);
  ctx.restart();
  CHECK(code_on(asio::make_strand(ctx), [&] { ctx.run(); }) == errc::would_block);
  asio::thread_pool pool(2);
  CHECK(code_on(pool.get_executor(), [&] { pool.join(); }) == errc::would_block);
  seeded_context seeded(5);
  CHECK(code_on(seeded.get_executor(), [&] { seeded.run(); }) == errc::would_block);
}
