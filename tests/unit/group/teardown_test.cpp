// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Contexts, worlds and runtimes that go, in any order, while every kind of call is pending.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <hocket/async/event.hpp>
#include <hocket/async/runtime.hpp>
#include <hocket/group/local_world.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "every_call.hpp"

using namespace hocket;
using namespace hocket::test;
namespace asio = boost::asio;

namespace {

constexpr int copies = 7;  // of each call, each on a channel of its own

class scene {
 public:
  scene() {
    ctx.emplace();
    rt.emplace();
    ranks.emplace(ctx->get_executor(), 2, local_world_options().runtime(*rt));
    auto const g = (*ranks)[0].group();
    for (int i = 0; i < copies; ++i)
      for (auto const& c : all_calls()) {
        auto const channel = g.channel(ops.size() + 1);
        ops.push_back(c.start(channel, call_args(2, group_rank(1), {})));
        event(ops.back()).wait().async_wait([this, held = alive](boost::system::error_code) {
          ++called;
        });
      }
    ctx->poll();
    CHECK(called == 0);
    CHECK(alive.use_count() == static_cast<long>(ops.size()) + 1);
  }
  std::optional<asio::io_context> ctx;
  std::optional<runtime> rt;
  std::optional<local_world> ranks;
  std::vector<detail::op_ref> ops;
  std::shared_ptr<int> alive = std::make_shared<int>(0);
  int called = 0;
};

}  // namespace

TEST_CASE("every handler is destroyed once, and not called, when its context dies first") {
  scene s;
  s.ctx.reset();
  CHECK(s.called == 0);
  CHECK(s.alive.use_count() == 1);
  s.ranks.reset();
  s.rt.reset();
  CHECK(s.called == 0);
}

TEST_CASE("every handler is called once, with an error, when its world goes first") {
  scene s;
  s.ranks.reset();
  s.ctx->restart();
  s.ctx->run();
  CHECK(s.called == static_cast<int>(s.ops.size()));
  CHECK(s.alive.use_count() == 1);
  for (auto const& op : s.ops) CHECK(over(op).code == errc::group_closed);
}

TEST_CASE("contexts, worlds, runtimes and handles of every call go in any order") {
  std::array steps{0, 1, 2, 3};
  do {
    CAPTURE(steps[0]);
    CAPTURE(steps[1]);
    scene s;
    for (int const step : steps) {
      if (step == 0) s.ctx.reset();
      if (step == 1) s.ranks.reset();
      if (step == 2) s.rt.reset();
      if (step == 3) s.ops.clear();
    }
    CHECK(s.alive.use_count() == 1);
  } while (std::ranges::next_permutation(steps).found);
}
