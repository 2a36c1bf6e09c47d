// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// How ops, groups and worlds of processes end before their time. The ranks live in this process,
// each with an engine of its own: they meet and talk as processes do.
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <hocket/error.hpp>
#include <hocket/group/world.hpp>
#include <hocket/launch/join.hpp>
#include <string>
#include <thread>
#include <vector>

using namespace hocket;
using namespace std::chrono_literals;

namespace {

class host_ranks {
 public:
  explicit host_ranks(int n, std::string const& job = "") {
    static int count = 0;
    job_ =
        job.empty() ? "ending-" + std::to_string(::getpid()) + "-" + std::to_string(count++) : job;
    std::vector<work<world>> joins;
    for (int r = 0; r < n; ++r) joins.push_back(start(r, n));
    for (auto& j : joins) worlds.push_back(j.get(20s));
  }
  ~host_ranks() {
    worlds.clear();
    guard_.reset();
    thread_.join();
  }
  host_ranks(host_ranks const&) = delete;
  host_ranks& operator=(host_ranks const&) = delete;

  [[nodiscard]] process_group group(int r) const {
    return worlds[static_cast<std::size_t>(r)].group();
  }
  std::vector<world> worlds;

 private:
  work<world> start(int r, int n) {
    return join(context_.get_executor(), launch_options()
                                             .rank(r)
                                             .size(n)
                                             .local_rank(r)
                                             .local_size(n)
                                             .job(job_)
                                             .engine(engine_choice::host)
                                             .timeout(15s));
  }
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_{
      context_.get_executor()};
  std::thread thread_{[this] { context_.run(); }};
  std::string job_;
};

struct ending {
  boost::system::error_code code;
  std::string story;
  [[nodiscard]] bool tells(std::string const& what) const {
    return story.find(what) != std::string::npos;
  }
};

template <class T>
ending end_of(work<T> const& w, clock::duration limit = 10s) {
  try {
    w.get(limit);
  } catch (hocket::error const& e) {
    return {e.code(), e.what()};
  }
  return {};
}

double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}

}  // namespace

TEST_CASE(
    "a member that gives up at a monitored barrier ends it for all who came, and who come later") {
  host_ranks ranks(4);
  auto const patient = ranks.group(0).monitored_barrier(op_options().deadline(20s));
  auto const waits = ranks.group(3).monitored_barrier(op_options().deadline(100ms));
  for (auto const& w : {patient, waits}) {
    auto const e = end_of(w);
    CHECK(e.code == errc::timed_out);
    CHECK_MESSAGE(e.tells("not called by rank 1, rank 2"), e.story);
  }
  CHECK(end_of(ranks.group(2).monitored_barrier()).code == errc::timed_out);
  CHECK(end_of(ranks.group(1).monitored_barrier()).code == errc::timed_out);
  std::vector<work<>> next;
  for (int r = 0; r < 4; ++r) next.push_back(ranks.group(r).barrier());
  for (auto const& w : next) CHECK_FALSE(end_of(w).code);
}

TEST_CASE("a cancelled wait at a monitored barrier ends it for the others, too") {
  host_ranks ranks(3);
  auto const waits = ranks.group(0).monitored_barrier(op_options().deadline(20s));
  auto const cancelled = ranks.group(1).monitored_barrier(op_options().deadline(20s));
  cancelled.get_canceller().cancel();
  auto const e = end_of(waits);
  CHECK(e.code == errc::peer_failed);
  CHECK_MESSAGE(e.tells("rank 1 waited until it was cancelled; not called by rank 2"), e.story);
}

TEST_CASE(
    "a revoke ends calls that wait, that were announced and that come later, on all members") {
  host_ranks ranks(3);
  auto const big = tensor::zeros(dtype::f32, {1'000'003});
  auto const reduces = ranks.group(0).all_reduce(big);
  auto const out = tensor::zeros(dtype::f32, {1'000'003});
  auto const receives = ranks.group(1).recv(out, group_rank(2));
  auto const sent = ranks.group(2).send(tensor::zeros(dtype::f32, {500'001}), group_rank(0));
  std::this_thread::sleep_for(30ms);
  ranks.group(1).revoke("the test says so");
  for (auto const& e : {end_of(reduces), end_of(receives), end_of(sent)}) {
    CHECK(e.code == errc::revoked);
    CHECK_MESSAGE(e.tells("revoked by rank 1: the test says so"), e.story);
  }
  big.data<float>()[0] = 1;  // nobody holds it any more
  std::this_thread::sleep_for(100ms);
  CHECK(end_of(ranks.group(2).barrier()).code == errc::revoked);
}

TEST_CASE("groups that are revoked while much moves end at once, again and again") {
  for (int i = 0; i < 10; ++i) {
    host_ranks ranks(3);
    std::vector<work<>> works;
    std::vector<tensor> outs;
    for (int r = 0; r < 3; ++r)
      for (int k = 0; k < 3; ++k) {
        outs.push_back(tensor::zeros(dtype::f32, {3 * 700'001}));
        works.push_back(ranks.group(r).all_gather(
            outs.back(), tensor::full(dtype::f32, {700'001}, static_cast<float>(10 * k + r))));
      }
    std::this_thread::sleep_for(std::chrono::microseconds(i * 300));
    auto const begun = std::chrono::steady_clock::now();
    ranks.group(i % 3).revoke("enough");
    for (std::size_t w = 0; w < works.size(); ++w) {
      auto const e = end_of(works[w]);
      CHECK_MESSAGE((!e.code || e.code == errc::revoked), e.story);
      if (e.code) continue;
      auto const k = static_cast<float>(10 * (w % 3));
      for (int r = 0; r < 3; ++r)
        CHECK(outs[w].item<float>((r + 1) * 700'001 - 1) == k + static_cast<float>(r));
    }
    CHECK(seconds_since(begun) < 1);
  }
}

TEST_CASE("a member that leaves ends what needs it; others' groups without it go on") {
  host_ranks ranks(3);
  auto const pair = rank_group::of(0, 2);
  auto const joins0 = make_group(ranks.worlds[0], pair);
  auto const joins2 = make_group(ranks.worlds[2], pair);
  auto const a = joins0.get(10s);
  auto const b = joins2.get(10s);
  auto const waits = ranks.group(0).barrier();
  ranks.worlds[1] = {};
  auto const e = end_of(waits);
  CHECK(e.code == errc::group_closed);
  CHECK_MESSAGE(e.tells("rank 1"), e.story);
  auto const x = a.barrier();
  auto const y = b.barrier();
  CHECK_FALSE(end_of(x).code);
  CHECK_FALSE(end_of(y).code);
}

TEST_CASE("a world that is dropped ends its pending calls, in bounded time") {
  host_ranks ranks(3);
  auto const out = tensor::zeros(dtype::f32, {300'001});
  auto const receives = ranks.group(1).recv(out, group_rank(0));
  auto const reduces = ranks.group(1).all_reduce(tensor::zeros(dtype::f32, {400'001}));
  auto const sends = ranks.group(1).send(tensor::zeros(dtype::f32, {300'001}), group_rank(2));
  auto const begun = std::chrono::steady_clock::now();
  ranks.worlds[1] = {};
  CHECK(seconds_since(begun) < 0.8);
  CHECK_MESSAGE(end_of(receives).code == errc::group_closed, end_of(receives).story);
  CHECK(end_of(reduces).code == errc::group_closed);
  CHECK(end_of(sends).code == errc::group_closed);
}

TEST_CASE("twenty worlds of one name, one after another, whose ranks leave in any order") {
  std::string const job = "ending-again-" + std::to_string(::getpid());
  for (int i = 0; i < 20; ++i) {
    host_ranks ranks(3, job);
    std::vector<work<>> all;
    for (int r = 0; r < 3; ++r) all.push_back(ranks.group(r).barrier());
    for (auto const& w : all) CHECK_FALSE(end_of(w).code);
    for (int k = 0; k < 3; ++k)
      ranks.worlds[static_cast<std::size_t>((i + k * (i % 2 + 1)) % 3)] = {};
  }
}

TEST_CASE("members that rebuild agree on who goes on; one that comes late is excluded") {
  host_ranks ranks(4);
  std::vector<work<process_group>> came;
  for (int r : {3, 0, 1})
    came.push_back(ranks.group(r).rebuild(rebuild_options().deadline(r == 1 ? 200ms : 20s)));
  std::vector<process_group> next;
  for (auto const& w : came) next.push_back(w.get(10s));
  for (auto const& g : next) CHECK(g.label() == "world@1[0,1,3]");
  std::vector<work<>> met;
  for (auto const& g : next) met.push_back(g.barrier());
  for (auto const& w : met) CHECK_FALSE(end_of(w).code);
  auto const late = end_of(ranks.group(2).rebuild(rebuild_options().deadline(5s)));
  CHECK(late.code == errc::excluded);
  CHECK_MESSAGE(late.tells("rank 2 came after the membership was closed: epoch 1 of group world is "
                           "[0,1,3]"),
                late.story);
  CHECK(end_of(ranks.group(0).barrier()).code == errc::revoked);
  auto const again = end_of(ranks.group(0).rebuild());
  CHECK(again.code == errc::invalid_argument);
}

TEST_CASE("a member that cancels its rebuild is no part of the group") {
  host_ranks ranks(3);
  auto const cancelled = ranks.group(1).rebuild(rebuild_options().deadline(20s));
  std::this_thread::sleep_for(50ms);
  cancelled.get_canceller().cancel();
  CHECK(end_of(cancelled).code == boost::asio::error::operation_aborted);
  std::this_thread::sleep_for(50ms);
  auto const a = ranks.group(0).rebuild(rebuild_options().deadline(300ms));
  auto const b = ranks.group(2).rebuild(rebuild_options().deadline(300ms));
  CHECK(a.get(10s).label() == "world@1[0,2]");
  CHECK(b.get(10s).label() == "world@1[0,2]");
}
