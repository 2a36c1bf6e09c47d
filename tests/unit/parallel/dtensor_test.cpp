// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <hocket/async/seeded_context.hpp>
#include <hocket/parallel/dtensor.hpp>
#include <hocket/parallel/model_parallel.hpp>
#include <ranks.hpp>
#include <refusal.hpp>
#include <vector>

#include "dtensor_support.hpp"
#include "programs.hpp"

using namespace hocket;
using test::is_refused;
using test::outcome_of;
using test::refusal;
namespace asio = boost::asio;

namespace {

placements one(placement p) { return placements(std::move(p)); }

// 5 rows over 4 ranks as PyTorch cuts them, and as we do by default.
asio::awaitable<void> five_rows_over_four(world w) {
  int const me = w.rank().value();
  auto mesh = co_await init_device_mesh(w, shape(4));
  std::vector<std::int64_t> const sizes{2, 2, 1, 0};
  auto const chunked = one(shard(0, sizes));
  auto const x = test::numbered_shard({5, 3}, mesh, chunked);
  CHECK(x.to_local().size(0) == sizes[static_cast<std::size_t>(me)]);
  auto whole = co_await full_tensor(x);
  CHECK(equal(whole, tensor::arange(dtype::i64, {5, 3}, 1)));
  auto balanced = co_await redistribute(x, one(shard(-2)));
  CHECK(balanced.to_local().size(0) == (me == 0 ? 2 : 1));

  // The whole's shape is never a guess from the shard.
  auto const guess = [&] { return dtensor(x.to_local(), mesh, one(shard(0)), {8, 3}), 0; };
  if (me >= 2) CHECK(is_refused(refusal(guess)));
  auto const other_sum = [&] { return dtensor(x.to_local(), mesh, chunked, {6, 3}), 0; };
  auto const story = refusal(other_sum);
  CHECK(story.find("[2,2,1,0], 5 in all, of 6 indices over 4 ranks") != std::string::npos);
}

asio::awaitable<void> reduced(world w, reduction how, dtype type, std::int64_t first,
                              std::int64_t right) {
  auto mesh = co_await init_device_mesh(w, shape(w.size()));
  auto const mine = tensor::full(type, {3, 5}, static_cast<long double>(first + w.rank().value()));
  dtensor const x(mine, mesh, one(partial(how)), {3, 5});
  auto whole = co_await full_tensor(x);
  CHECK(equal(whole, tensor::full(type, {3, 5}, static_cast<long double>(right))));
  auto rows = co_await redistribute(x, one(shard(0)));
  CHECK(equal(rows.to_local(),
              tensor::full(type, rows.to_local().shape(), static_cast<long double>(right))));
  // What becomes partial by any reduction is the same value again.
  auto again = co_await redistribute(rows, one(partial(how)));
  auto back = co_await full_tensor(again);
  CHECK(equal(back, whole));
  auto const here = distribute_tensor(whole, mesh, one(partial(how)));
  auto there = co_await full_tensor(here);
  CHECK(equal(there, whole));
}

// A new topology for a world that runs: 4 ranks of 8, then 2 x 3 others, then all.
asio::awaitable<void> other_ranks(world w) {
  auto const everyone = w.group();
  auto const me = w.rank();
  shape const full(7, 5);
  mesh_layout const first(rank_group::of(0, 1, 2, 3), shape(4));
  mesh_layout const second(rank_group::of(7, 6, 5, 2, 1, 3), shape(2, 3));
  device_mesh old(first);
  if (first.coordinate_of(me)) old = co_await init_device_mesh(w, first.ranks(), shape(4));
  device_mesh next(second);
  if (second.coordinate_of(me)) next = co_await init_device_mesh(w, second.ranks(), shape(2, 3));
  auto all = co_await init_device_mesh(w, shape(8));

  for (auto const& from : {shard(0), shard(1), replicate(), partial(reduction::sum)}) {
    auto const start = old.has_groups() ? test::numbered_shard(full, old, one(from))
                                        : dtensor::elsewhere(dtype::i64, old, one(from), full);
    auto const two = placements(shard(1), shard(0));
    auto moved = co_await redistribute(start, next, two, everyone);
    CHECK(moved.has_local() == second.coordinate_of(me).has_value());
    if (moved.has_local())
      CHECK(equal(moved.to_local(),
                  test::numbered_block(full, second, two, *second.coordinate_of(me))));
    auto spread = co_await redistribute(moved, all, one(shard(0)), everyone);
    CHECK(equal(spread.to_local(),
                test::numbered_block(full, all.layout(), one(shard(0)), all.coordinate())));
    auto back = co_await redistribute(spread, old, one(from), everyone);
    CHECK(back.has_local() == old.has_groups());
    if (back.has_local()) {
      auto whole = co_await full_tensor(back);
      CHECK(equal(whole, tensor::arange(dtype::i64, full, 1)));
    }
  }
}

// The weights of tp 4 become those of tp 2 x dp 2 while the world runs.
asio::awaitable<void> reshaped(world w) {
  shape const full(9, 6);
  auto state = co_await initialize_model_parallel(w, 4);
  device_mesh const wide(state, mesh_axes(axis::tp));
  CHECK(wide.group(0) == state.tp_group());
  auto const x = test::numbered_shard(full, wide, one(shard(0)));
  axis_sizes const smaller{.tp = 2, .dp = 2};
  auto next = co_await state.reshape(smaller, order());
  device_mesh const square(next, mesh_axes(axis::dp, axis::tp));
  CHECK(square.layout().name(1) == "tp");
  CHECK(square.get_group("dp") == next.dp_group());
  auto const where = placements(replicate(), shard(0));
  auto moved = co_await redistribute(x, square, where, w.group());
  CHECK(equal(moved.to_local(),
              test::numbered_block(full, square.layout(), where, square.coordinate())));
  co_await w.group().barrier();
  co_await destroy_model_parallel(next);
}

asio::awaitable<void> ranks_that_differ(world w) {
  auto mesh = co_await init_device_mesh(w, shape(3));
  int const me = w.rank().value();
  auto const x = test::numbered_shard({7, 5}, mesh, one(shard(0)));
  auto const asked = me == 1 ? one(shard(1)) : one(replicate());
  auto one_other = redistribute(x, asked);
  auto o = co_await outcome_of(std::move(one_other));
  CHECK(o.code == errc::mismatch);
  CHECK(o.says("world rank 0: i64[7,5] from (shard(0)) to (replicate)"));
  CHECK(o.says("world rank 1: i64[7,5] from (shard(0)) to (shard(1))"));

  auto const wrong = placements(replicate(), replicate());
  auto unable = redistribute(x, me == 2 ? wrong : one(replicate()));
  auto u = co_await outcome_of(std::move(unable));
  CHECK(u.code == (me == 2 ? errc::invalid_argument : errc::peer_failed));
  if (me != 2) CHECK(u.says("world rank 2 could not take part"));

  auto whole = co_await full_tensor(x);  // the mesh goes on
  CHECK(equal(whole, tensor::arange(dtype::i64, {7, 5}, 1)));
}

// Calls overlap: three are under way before the first is awaited.
asio::awaitable<void> at_once(world w) {
  auto mesh = co_await init_device_mesh(w, shape(w.size()));
  auto const x = test::numbered_shard({11, 3}, mesh, one(shard(0)));
  auto same = co_await redistribute(x, one(shard(0)));
  CHECK(same.to_local().same_object(x.to_local()));
  auto const y = test::numbered_shard({4, 6}, mesh, one(partial()));
  auto a = redistribute(x, one(shard(1)));
  auto b = full_tensor(y);
  auto c = full_tensor(x);
  auto of_x = co_await std::move(c);
  auto of_y = co_await std::move(b);
  auto columns = co_await std::move(a);
  CHECK(equal(of_x, tensor::arange(dtype::i64, {11, 3}, 1)));
  CHECK(equal(of_y, tensor::arange(dtype::i64, {4, 6}, 1)));
  auto of_columns = co_await full_tensor(columns);
  CHECK(equal(of_columns, of_x));
}

// Several chunks in each direction, more than may be under way at once.
asio::awaitable<void> large(world w) {
  auto mesh = co_await init_device_mesh(w, shape(w.size()));
  std::int64_t const rows = 3 * (std::int64_t{70} << 20) / 8 / 1024;
  auto const x = test::numbered_shard({rows, 1024}, mesh, one(shard(0)));
  auto columns = co_await redistribute(x, one(shard(1)));
  auto back = co_await redistribute(columns, one(shard(0)));
  CHECK(equal(back.to_local(), x.to_local()));
}

asio::awaitable<void> outside(world w) {
  auto made = init_device_mesh(w, rank_group::of(0, 2), shape(2));
  if (w.rank().value() % 2 == 1) {
    auto o = co_await outcome_of(std::move(made));
    CHECK(o.code == errc::not_a_member);
    co_return;
  }
  auto mesh = co_await std::move(made);
  CHECK(mesh.group(0).size() == 2);
  auto wrong = co_await outcome_of(init_device_mesh(w, shape(2, 3)));
  CHECK(wrong.code == errc::invalid_argument);
  CHECK(wrong.says("2 x 3 over 4 ranks"));
}

}  // namespace

TEST_CASE(
    "5 rows over 4 ranks are cut as the caller says, and the whole's shape is never guessed") {
  test::run_everywhere(4, five_rows_over_four);
}

TEST_CASE("contributions become the value by each reduction, and the value contributions again") {
  test::run_ranks(3, [](world w) { return reduced(w, reduction::sum, dtype::bf16, 2, 9); });
  test::run_ranks(3, [](world w) { return reduced(w, reduction::product, dtype::i32, 2, 24); });
  test::run_ranks(3, [](world w) { return reduced(w, reduction::min, dtype::u64, 2, 2); });
  test::run_ranks(3, [](world w) { return reduced(w, reduction::max, dtype::f16, 2, 4); });
  test::run_ranks(3, [](world w) { return reduced(w, reduction::max, dtype::i8, -9, -7); });
  test::run_ranks(3, [](world w) { return reduced(w, reduction::average, dtype::f32, 2, 3); });
  test::run_ranks(3, [](world w) { return reduced(w, reduction::bit_and, dtype::i16, 5, 4); });
  test::run_ranks(3, [](world w) { return reduced(w, reduction::bit_or, dtype::u8, 4, 6 | 5); });
  test::run_ranks(3, [](world w) { return reduced(w, reduction::bit_xor, dtype::i64, 4, 7); });
  test::run_ranks(2, [](world w) { return reduced(w, reduction::bit_and, dtype::boolean, 0, 0); });
}

TEST_CASE("a tensor moves to other ranks, and another number of them") {
  test::run_everywhere(8, other_ranks);
}

TEST_CASE("a world that runs gets a new topology, and its weights move there") {
  test::run_everywhere(4, reshaped);
}

TEST_CASE("ranks that ask for different placements all learn both, and the mesh goes on") {
  test::run_everywhere(3, ranks_that_differ);
}

TEST_CASE("redistributions of one mesh may be under way together") {
  test::run_everywhere(4, at_once);
}

TEST_CASE("in any order of delivery they keep apart") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    seeded_context ctx(seed);
    local_world ranks(ctx.get_executor(), 4, local_world_options().runtime(ctx.get_runtime()));
    ranks.spawn(at_once);
    ctx.run();
    ranks.rethrow();
  }
}

TEST_CASE("more bytes than a channel accepts at once go in turns") { test::run_ranks(3, large); }

TEST_CASE("a rank outside the mesh is told at once, sizes that are wrong before anything is made") {
  test::run_everywhere(4, outside);
}

TEST_CASE("placements that cannot be are refused with the reason") {
  mesh_layout const two(rank_group::of(0, 1, 2, 3), shape(2, 2));
  CHECK(is_refused(refusal([&] { return local_box({4}, two, one(shard(0)), {}); })));
  CHECK(
      is_refused(refusal([&] { return local_box({4}, two, placements(shard(1), shard(0)), {}); })));
  CHECK(is_refused(refusal([&] { return partial(reduction::premultiplied_sum); })));
  auto const mixed = placements(partial(reduction::sum), partial(reduction::max));
  auto const both = placements(replicate(), replicate());
  CHECK(is_refused(
      refusal([&] { return redistribute_bytes(dtype::f32, {4}, two, both, two, mixed); })));
  auto const bits = placements(partial(reduction::bit_and), replicate());
  CHECK(is_refused(
      refusal([&] { return redistribute_bytes(dtype::f32, {4}, two, bits, two, both); })));
  CHECK(is_refused(refusal([] { return dtensor().shape(); })));
  CHECK(is_refused(refusal([&] { return device_mesh(two).group(0); }, errc::not_a_member)));
}
