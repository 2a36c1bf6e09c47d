// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// What a channel takes before it pushes back; keyed channels; failures that nobody waited for.
#include <hocket/group/world.hpp>
#include <hocket/log.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "virtual_world.hpp"

using namespace hocket;
using namespace hocket::test;

namespace {

// The two ends of a group made with these options.
std::vector<process_group> pair_of(virtual_world& v, group_options const& options) {
  auto const members = rank_group::of(0, 1);
  auto const a = make_group(v.ranks()[0], members, options);
  auto const b = make_group(v.ranks()[1], members, options);
  std::vector<process_group> both;
  both.push_back(a.state()->take());
  both.push_back(b.state()->take());
  return both;
}

tensor bytes(std::int64_t n) { return tensor::zeros(dtype::u8, {n}); }

class captured_log {
 public:
  captured_log() {
    set_log_threshold(log_level::warning);
    set_log_sink([this](log_level, std::string_view line) { lines.emplace_back(line); });
  }
  ~captured_log() {
    set_log_sink({});
    set_log_threshold(before_);
  }
  std::vector<std::string> lines;

 private:
  log_level const before_ = log_threshold();
};

}  // namespace

TEST_CASE("operations past the window are posted in order as others end, past twice it refused") {
  virtual_world v(2);
  auto const g = pair_of(v, group_options().window(3, 1 << 20));
  std::vector<work<>> sent;
  std::vector<work<>> posted;
  for (int i = 0; i < 7; ++i) {
    sent.push_back(g[0].send(bytes(i + 1), group_rank(1)));
    posted.push_back(sent.back().posted());
  }
  for (std::size_t i = 0; i < 6; ++i) CHECK(posted[i].ready() == (i < 3));
  CHECK(now(sent[6]).code == errc::queue_full);
  CHECK_MESSAGE(now(sent[6]).tells("6 operations of 21 bytes"), now(sent[6]).story);
  CHECK_MESSAGE(now(sent[6]).tells("window of 3 operations and 1048576 bytes"), now(sent[6]).story);
  // Other channels and the other rank have windows of their own.
  CHECK(g[0].channel(1).send(bytes(1), group_rank(1)).posted().ready());
  for (std::size_t i = 0; i < 6; ++i) {
    auto const got = g[1].recv(group_rank(0));
    CHECK(got.state()->take().size(0) == static_cast<std::int64_t>(i) + 1);
    for (std::size_t k = 0; k < 6; ++k) CHECK(posted[k].ready() == (k < i + 4));
  }
  auto const refused = g[1].recv(group_rank(0));  // the refused call kept its place in the order
  CHECK(now(refused).code == errc::peer_failed);
  CHECK(g[0].send(bytes(1), group_rank(1)).posted().ready());
}

TEST_CASE("bytes count like operations, and one larger operation goes into an empty channel") {
  virtual_world v(2);
  auto const g = pair_of(v, group_options().window(100, 1000));
  auto const large = g[0].send(bytes(5000), group_rank(1));
  CHECK(large.posted().ready());
  CHECK(now(g[0].send(bytes(1), group_rank(1))).code == errc::queue_full);
  CHECK(g[1].recv(group_rank(0)).ready());
  CHECK(now(g[1].recv(group_rank(0))).code == errc::peer_failed);
  auto const first = g[0].send(bytes(600), group_rank(1));
  auto const second = g[0].send(bytes(600), group_rank(1)).posted();
  auto const third = g[0].send(bytes(100), group_rank(1)).posted();
  CHECK(first.posted().ready());
  CHECK_FALSE(second.ready());
  CHECK_FALSE(third.ready());  // it does not overtake
  CHECK(now(g[0].send(bytes(800), group_rank(1))).code == errc::queue_full);
  CHECK(g[1].recv(group_rank(0)).ready());
  CHECK(second.ready());
  CHECK(third.ready());
}

TEST_CASE("an operation that ends while it waits behind the window leaves it in order") {
  virtual_world v(2);
  auto const g = pair_of(v, group_options().window(1, 1 << 20));
  auto const blocks = g[0].recv(group_rank(1), op_options().tag(1));
  auto const behind = g[0].recv(group_rank(1), op_options().tag(2));
  auto const posted = behind.posted();
  CHECK_FALSE(posted.ready());
  behind.get_canceller().cancel();  // withdrawn
  CHECK(posted.ready());
  auto const next = g[0].send(bytes(1), group_rank(1));
  CHECK_FALSE(next.posted().ready());
  blocks.get_canceller().cancel();
  CHECK(next.posted().ready());
  CHECK(g[1].recv(group_rank(0)).ready());
}

TEST_CASE("keyed operations meet by key and by use, in any order, and leave nothing open") {
  captured_log log;
  virtual_world v(2);
  auto const g = pair_of(v, group_options());
  std::vector<tensor> outs;
  std::vector<work<>> pending;
  auto const start = [&](int rank, std::uint64_t key, int value) {
    outs.push_back(tensor::zeros(dtype::i32, {2}));
    auto const in = tensor::full(dtype::i32, {1}, value);
    pending.push_back(g[static_cast<std::size_t>(rank)].keyed(key).all_gather(outs.back(), in));
  };
  start(0, 5, 1);
  start(0, 6, 2);
  start(0, 5, 3);
  start(1, 6, 20);
  start(1, 5, 10);
  start(1, 5, 30);
  for (auto const& p : pending) CHECK_FALSE(now(p).code);
  for (auto const& [out, mine, other] :
       {std::tuple(0, 1, 10), std::tuple(1, 2, 20), std::tuple(2, 3, 30), std::tuple(3, 2, 20)}) {
    CHECK(outs[static_cast<std::size_t>(out)].item<std::int32_t>(0) == mine);
    CHECK(outs[static_cast<std::size_t>(out)].item<std::int32_t>(1) == other);
  }
  auto const once = g[0].keyed(7);
  auto const first = once.barrier();
  CHECK(now(once.barrier()).code == errc::group_closed);
  CHECK(g[1].keyed(7).barrier().ready());
  CHECK(first.ready());
  CHECK_THROWS_AS(static_cast<void>(g[0].channel(std::uint64_t{1} << 63)), error);
  CHECK(log.lines.empty());
}

TEST_CASE("a failure that nobody waits for goes to the group's handler with its call site") {
  captured_log log;
  std::vector<std::string> stories;
  virtual_world v(2);
  {
    auto const g = pair_of(v, group_options().failure_handler([&](error const& e) {
      CHECK(e.code() == errc::invalid_argument);
      stories.emplace_back(e.what());
    }));
    g[0].send(tensor(), group_rank(1));
    CHECK(stories.size() == 1);
    CHECK(stories[0].find("window_test.cpp:") != std::string::npos);
    CHECK(stories[0].find("the tensor is undefined") != std::string::npos);
    auto const seen = g[0].send(tensor(), group_rank(1));
    CHECK(now(seen).code == errc::invalid_argument);
    auto const cancelled = g[0].recv(group_rank(1));
    cancelled.get_canceller().cancel();
  }
  CHECK(stories.size() == 1);
  CHECK(log.lines.empty());
  {
    auto const g = pair_of(v, group_options());
    g[0].send(tensor(), group_rank(1));
  }
  CHECK(log.lines.size() == 1);
  CHECK(log.lines[0].find("nobody waited for this failure: ") != std::string::npos);
}

TEST_CASE("of many failures that nobody waited for a few are logged in full, then their number") {
  captured_log log;
  virtual_world v(2);
  auto const g = pair_of(v, group_options().name("noisy"));
  for (int i = 0; i < 100; ++i) g[0].send(tensor(), group_rank(1));
  REQUIRE(log.lines.size() == 8 + 3);
  for (std::size_t i = 0; i < 8; ++i)
    CHECK(log.lines[i].find("nobody waited for this failure: noisy[0,1] #" + std::to_string(i)) ==
          0);
  CHECK(log.lines[8].find(
            "nobody waited for 16 failures of this group so far; the latest: noisy") == 0);
  CHECK(log.lines[10].find("nobody waited for 64 failures") == 0);
  int seen = 0;
  auto const h = pair_of(v, group_options().failure_handler([&](error const&) { ++seen; }));
  for (int i = 0; i < 100; ++i) h[0].send(tensor(), group_rank(1));
  CHECK(seen == 100);
}

TEST_CASE("channels that were not closed are reported at the group's end") {
  captured_log log;
  virtual_world v(2);
  {
    auto const g = pair_of(v, group_options().name("leaky"));
    static_cast<void>(g[0].channel(8));
    static_cast<void>(g[0].channel(9));
    g[0].channel(9).close_channel();
    static_cast<void>(g[1].channel(8));
    g[1].channel(8).close_channel();
  }
  CHECK(log.lines.size() == 1);
  CHECK(log.lines[0] == "group leaky[0,1], rank 0: channels were not closed: 8");
}
