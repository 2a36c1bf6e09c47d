// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Random programs on ranks whose interleaving is drawn from a seed, in virtual time, compared with
// what the operations must give. A failing seed is printed; HOCKET_SEED=n replays it alone.
#include <doctest/doctest.h>

#include <boost/asio/awaitable.hpp>
#include <cstdlib>
#include <hocket/async/seeded_context.hpp>
#include <hocket/async/task_group.hpp>
#include <hocket/error.hpp>
#include <hocket/group/local_world.hpp>
#include <optional>
#include <random>
#include <string>

#include "long_mode.hpp"
#include "random_program.hpp"

namespace asio = boost::asio;
using namespace hocket;
using namespace std::chrono_literals;
using hocket::sim::action;
using hocket::sim::step;

namespace {

// What a rank needs for one step.
class place {
 public:
  place(seeded_context& c, process_group g, step const& s) noexcept
      : ctx(&c), group(std::move(g)), what(s) {}
  seeded_context* ctx;
  process_group group;
  step what;
  [[nodiscard]] int rank() const noexcept { return group.rank().value(); }
  [[nodiscard]] bool is_chosen() const noexcept { return rank() == what.chosen; }
  [[nodiscard]] std::int64_t value(int of_rank) const noexcept {
    return 1000 * static_cast<std::int64_t>(what.number) + 100 * of_rank;
  }
  [[nodiscard]] tensor data(int of_rank, std::int64_t extent) const {
    return tensor::arange(dtype::i64, {extent}, value(of_rank));
  }
};

asio::awaitable<void> gather(place p) {
  auto const n = p.group.size();
  auto const mine = p.data(p.rank(), p.what.extent);
  auto const all = tensor::empty(dtype::i64, {n * p.what.extent});
  co_await p.group.all_gather(all, mine);
  for (int r = 0; r < n; ++r)
    CHECK(equal(all.slice(0, r * p.what.extent, p.what.extent), p.data(r, p.what.extent)));
}

asio::awaitable<void> gather_balanced(place p) {
  auto const whole = p.data(0, p.what.extent);
  auto const plan = make_split_plan(layout::balanced, p.what.extent, p.group.size(), 0);
  auto const all = tensor::empty(dtype::i64, {p.what.extent});
  auto const mine = split(whole, plan, p.rank());
  co_await p.group.all_gather_v(all, mine, plan);
  CHECK(equal(all, whole));
}

asio::awaitable<void> broadcast(place p) {
  auto const t = p.is_chosen() ? p.data(p.rank(), p.what.extent)
                               : tensor::zeros(dtype::i64, {p.what.extent});
  co_await p.group.broadcast(t, group_rank(p.what.chosen));
  CHECK(equal(t, p.data(p.what.chosen, p.what.extent)));
}

asio::awaitable<void> scatter(place p) {
  std::optional<tensor> whole;
  if (p.is_chosen()) whole = p.data(p.rank(), p.what.extent);
  auto got = co_await p.group.scatter(std::move(whole), 0, layout::balanced,
                                      group_rank(p.what.chosen));
  auto const plan = make_split_plan(layout::balanced, p.what.extent, p.group.size(), 0);
  CHECK(equal(*got, split(p.data(p.what.chosen, p.what.extent), plan, p.rank())));
}

asio::awaitable<void> ring(place p) {
  int const n = p.group.size();
  int const before = (p.rank() + n - 1) % n;
  auto const tagged = op_options().tag(p.what.number);
  auto sent = p.group.send(p.data(p.rank(), p.what.extent + p.rank()),
                           group_rank((p.rank() + 1) % n), tagged);
  auto const got = co_await p.group.recv(group_rank(before), tagged);
  CHECK(equal(got, p.data(before, p.what.extent + before)));
  co_await std::move(sent);
}

asio::awaitable<void> object(place p) {
  std::optional<std::string> text;
  if (p.is_chosen()) text = std::string(static_cast<std::size_t>(p.what.extent), 'x');
  auto const got = co_await p.group.broadcast_object(std::move(text), group_rank(p.what.chosen));
  CHECK(got.size() == static_cast<std::size_t>(p.what.extent));
}

asio::awaitable<void> cancelled(place p) {
  auto met = p.group.barrier();
  if (p.is_chosen()) {
    bool const in_time = !met.ready();
    met.get_canceller().cancel();
    boost::system::error_code code;
    try {
      co_await work<>(met);
    } catch (error const& e) {
      code = e.code();
    }
    CHECK(code == (in_time ? operation_aborted() : boost::system::error_code()));
  }
  co_await met.released();
}

asio::awaitable<void> late(place p) {
  if (p.is_chosen()) co_await p.ctx->sleep(1h);
  auto const limit = p.is_chosen() ? op_options().no_deadline() : op_options().deadline(1min);
  auto met = p.group.barrier(limit);
  std::string story;
  try {
    co_await work<>(met);
  } catch (error const& e) {
    story = e.what();
    CHECK(e.code() == errc::timed_out);
  }
  // Others may be late for reasons of their own channel, but the chosen one is always among them.
  if (!p.is_chosen()) CHECK(story.find("rank " + std::to_string(p.what.chosen)) != story.npos);
  co_await met.released();
}

asio::awaitable<void> disagreement(place p) {
  auto const t = tensor::zeros(p.is_chosen() ? dtype::f32 : dtype::i64, {3});
  std::string story;
  try {
    co_await p.group.broadcast(t, group_rank(0));
  } catch (error const& e) {
    story = e.what();
    CHECK(e.code() == errc::mismatch);
  }
  CHECK(story.find("rank " + std::to_string(p.what.chosen) + " broadcast f32[3]") != story.npos);
}

asio::awaitable<void> perform(place p) {
  switch (p.what.what) {
    case action::gather: return gather(std::move(p));
    case action::gather_balanced: return gather_balanced(std::move(p));
    case action::broadcast: return broadcast(std::move(p));
    case action::scatter: return scatter(std::move(p));
    case action::ring: return ring(std::move(p));
    case action::object: return object(std::move(p));
    case action::cancelled: return cancelled(std::move(p));
    case action::late: return late(std::move(p));
    case action::disagreement: return disagreement(std::move(p));
    case action::barrier: break;
  }
  return [](place at) -> asio::awaitable<void> { co_await at.group.barrier(); }(std::move(p));
}

asio::awaitable<void> run_channel(seeded_context& ctx, process_group g,
                                  std::vector<step> const& steps, std::uint64_t seed) {
  std::mt19937_64 pace(seed);  // how long this rank dawdles between its calls
  for (step const& s : steps) {
    if (pace() % 4 == 0) co_await ctx.sleep(std::chrono::microseconds(pace() % 100));
    co_await perform(place(ctx, g, s));
  }
  g.close_channel();
}

struct outcome {
  std::uint64_t interleaving;
  clock::time_point end;
  friend bool operator==(outcome const&, outcome const&) = default;
};

outcome run(std::uint64_t seed) {
  auto const program = sim::make_program(seed);
  seeded_context ctx(seed);
  local_world ranks(ctx.get_executor(), program.ranks,
                    local_world_options().runtime(ctx.get_runtime()));
  int ended = 0;
  auto rank_main = [&](world w) -> asio::awaitable<void> {
    task_group channels(ctx.get_executor());
    for (std::size_t c = 0; c < program.channels.size(); ++c)
      channels.spawn(run_channel(ctx, w.group().channel(c + 1), program.channels[c],
                                 seed + 31 * c + 7 * static_cast<unsigned>(w.rank().value())));
    co_await channels.join();
    ++ended;
  };
  ranks.spawn(rank_main);
  ctx.run();
  ranks.rethrow();
  CHECK(ended == program.ranks);
  return {ctx.interleaving(), ctx.get_clock().now()};
}

}  // namespace

TEST_CASE("random programs give what their operations say, and equal seeds one interleaving") {
  char const* const one = std::getenv("HOCKET_SEED");
  std::uint64_t const first = one != nullptr ? std::strtoull(one, nullptr, 10) : 1;
  std::uint64_t const count = one != nullptr ? 1 : hocket::test::is_long_mode() ? 20000 : 200;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    CAPTURE(seed);
    auto const once = run(seed);
    CHECK(once == run(seed));
  }
}
