// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Handles, buffers, groups, contexts and runtimes that go while operations are pending.
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <hocket/group/detail/group_core.hpp>
#include <memory>
#include <optional>
#include <ranks.hpp>
#include <vector>

#include "ending.hpp"

using namespace hocket;
using namespace hocket::test;
namespace asio = boost::asio;

namespace {

// A tensor whose memory tells when it is let go.
class watched {
 public:
  explicit watched(int value) : memory_(std::make_shared<std::array<std::int32_t, 3>>()) {
    memory_->fill(value);
    alive_ = memory_;
  }
  tensor give() {
    auto owner = std::move(memory_);
    std::span<std::int32_t> const elements(*owner);
    return tensor::borrow(elements, {3}, std::move(owner));
  }
  [[nodiscard]] bool alive() const { return !alive_.expired(); }

 private:
  std::shared_ptr<std::array<std::int32_t, 3>> memory_;
  std::weak_ptr<std::array<std::int32_t, 3>> alive_;
};

asio::awaitable<void> dropped_send(world w) {
  auto const g = w.group();
  if (w.rank().value() == 0) {
    watched memory(42);
    g.send(memory.give(), group_rank(1));
    CHECK(memory.alive());  // neither handle nor tensor is left here
    co_await g.channel(1).barrier();
    co_await g.channel(2).barrier();
    CHECK_FALSE(memory.alive());
  } else {
    co_await g.channel(1).barrier();
    auto const t = co_await g.recv(group_rank(0));
    CHECK(t.item<std::int32_t>(2) == 42);
    co_await g.channel(2).barrier();
  }
}

asio::awaitable<void> leases(world w) {
  auto const g = w.group();
  if (w.rank().value() == 0) {
    auto const in = tensor::full(dtype::i32, {1}, 7);
    auto out = tensor::zeros(dtype::i32, {2});
    auto const gather = g.all_gather(out, in);
    CHECK(in.storage()->readers() == 1);
    CHECK(out.storage()->writers() == 1);
    auto const stop = gather.get_canceller();
    stop.cancel();
    auto const e = co_await ended(gather);
    CHECK(e.code == asio::error::operation_aborted);
    CHECK(out.leased());  // the wait has ended, the operation goes on
    co_await g.channel(1).barrier();
    co_await gather.released();
    CHECK_FALSE(in.leased());
    CHECK_FALSE(out.leased());
    CHECK(out.item<std::int32_t>(1) == 8);
  } else {
    co_await g.channel(1).barrier();
    auto out = tensor::zeros(dtype::i32, {2});
    co_await g.all_gather(out, tensor::full(dtype::i32, {1}, 8));
    CHECK(out.item<std::int32_t>(0) == 7);  // the other rank has taken part all the same
  }
  co_await g.barrier();
}

asio::awaitable<void> withdrawn(world w) {
  auto const g = w.group();
  auto const seven = op_options().tag(7);
  if (w.rank().value() == 0) {
    watched memory(0);
    {
      auto const pending = g.recv(memory.give(), group_rank(1), seven);
      pending.get_canceller().cancel();
      auto const e = co_await ended(pending);
      CHECK(e.code == asio::error::operation_aborted);
    }
    CHECK_FALSE(memory.alive());  // at once: nothing can reach it any more
    co_await g.channel(1).barrier();
    auto const first = co_await g.recv(group_rank(1), seven);
    auto const second = co_await g.recv(group_rank(1), seven);
    CHECK(first.item<std::int32_t>(0) == 1);
    CHECK(second.item<std::int32_t>(0) == 2);
  } else {
    co_await g.channel(1).barrier();
    g.send(tensor::full(dtype::i32, {1}, 1), group_rank(0), seven);
    g.send(tensor::full(dtype::i32, {1}, 2), group_rank(0), seven);
  }
  co_await g.barrier();
}

// The group's handle goes while its operations are pending; they complete.
asio::awaitable<void> group_dropped(world w) {
  auto sub = co_await make_group(w, w.group().members());
  int const me = w.rank().value();
  std::weak_ptr<endpoint> const end = sub.core()->endpoint;
  auto out = tensor::zeros(dtype::i32, {2});
  auto gather = sub.all_gather(out, tensor::full(dtype::i32, {1}, me));
  auto message = me == 0 ? sub.recv(group_rank(1)) : work<tensor>();
  if (me == 1) sub.send(tensor::full(dtype::i32, {1}, 5), group_rank(0));
  sub = process_group();
  co_await std::move(gather);
  CHECK(out.item<std::int32_t>(1) == 1);
  if (me == 0) {
    auto const t = co_await std::move(message);
    CHECK(t.item<std::int32_t>(0) == 5);
  }
  message = work<tensor>();
  co_await w.group().barrier();
  CHECK(end.expired());  // nothing of the group is left
}

asio::awaitable<void> pending_of_each_kind(world w, watched& memory, std::vector<work<>>& kept) {
  auto const g = w.group();
  if (w.rank().value() == 0)
    co_return co_await g.recv(tensor::zeros(dtype::u8, {1}), group_rank(1));
  for (int i = 0; i < 100; ++i) {
    auto const c = g.channel(static_cast<std::uint64_t>(i));
    kept.push_back(c.barrier());
    kept.push_back(
        c.recv(memory.alive() ? tensor::zeros(dtype::u8, {3}) : tensor(), group_rank(0)));
    c.send(tensor::zeros(dtype::u8, {3}), group_rank(0), op_options().tag(3));
  }
  auto t = memory.give();
  kept.push_back(g.broadcast(t, group_rank(0)));
  t = tensor();
  co_await work(kept.back());
}

}  // namespace

TEST_CASE("a send whose handle and tensor are dropped reaches its peer and is then let go") {
  run_ranks_everywhere(2, dropped_send);
}
TEST_CASE("a cancelled wait leaves the operation, its leases and the group in order") {
  run_ranks_everywhere(2, leases);
}
TEST_CASE("a withdrawn receive lets its buffer go and takes no message") {
  run_ranks_everywhere(2, withdrawn);
}
TEST_CASE("operations outlive the group's last handle, and leave nothing behind") {
  run_ranks_everywhere(2, group_dropped);
}

TEST_CASE("contexts, worlds, runtimes and handles may go in any order with operations pending") {
  for (int order = 0; order < 12; ++order) {
    CAPTURE(order);
    watched memory(1);
    std::vector<work<>> kept;
    std::optional<runtime> rt(std::in_place);
    std::optional<asio::io_context> ctx(std::in_place);
    std::optional<local_world> ranks(std::in_place, ctx->get_executor(), 2,
                                     local_world_options().runtime(*rt));
    std::weak_ptr<endpoint> const end = (*ranks)[1].group().core()->endpoint;
    ranks->spawn([&](world w) { return pending_of_each_kind(w, memory, kept); });
    ctx->poll();
    CHECK(memory.alive());
    CHECK(kept.size() == 201);
    std::array<int, 4> steps{0, 1, 2, 3};
    std::rotate(steps.begin(), steps.begin() + order % 4, steps.end());
    if (order / 4 == 1) std::swap(steps[0], steps[1]);
    if (order / 4 == 2) std::swap(steps[2], steps[3]);
    for (int const s : steps) {
      if (s == 0) ctx.reset();
      if (s == 1) ranks.reset();
      if (s == 2) rt.reset();
      if (s == 3) kept.clear();
    }
    CHECK_FALSE(memory.alive());
    CHECK(end.expired());
  }
}

TEST_CASE("a large move left to a runtime that stops is carried out") {
  for (int round = 0; round < 20; ++round) {
    std::optional<runtime> rt(std::in_place);
    asio::io_context ctx;
    local_world ranks(ctx.get_executor(), 2, local_world_options().runtime(*rt));
    auto const t = patterned(dtype::u8, {1 << 20}, round);
    auto out = tensor::zeros(dtype::u8, {1 << 20});
    auto const sent = ranks[0].group().send(t, group_rank(1));
    auto const got = ranks[1].group().recv(out, group_rank(0));
    rt.reset();
    CHECK(sent.ready());
    CHECK(got.ready());
    CHECK(equal(out, t));
  }
}
