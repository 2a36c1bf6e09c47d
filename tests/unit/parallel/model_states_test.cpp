// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <hocket/parallel/model_states.hpp>
#include <ranks.hpp>
#include <refusal.hpp>
#include <string>
#include <vector>

#include "dtensor_support.hpp"
#include "programs.hpp"

using namespace hocket;
using test::outcome_of;
namespace asio = boost::asio;

namespace {

constexpr dtype every_dtype[] = {dtype::boolean, dtype::u8,    dtype::i8,  dtype::i16, dtype::u16,
                                 dtype::i32,     dtype::u32,   dtype::i64, dtype::u64, dtype::f16,
                                 dtype::bf16,    dtype::f32,   dtype::f64, dtype::c64, dtype::c128,
                                 dtype::f8e4m3,  dtype::f8e5m2};

// Sharded and plain parameters, buffers of every dtype, scalars, empty and transposed ones; the
// elements say who made them.
model_states states_of(device_mesh const& mesh, int rank) {
  model_states s;
  placements const rows(replicate(), shard(0));
  for (auto const* const name : {"layers.1.weight", "layers.0.weight", "embedding"}) {
    auto const box = local_box({7, 5}, mesh.layout(), rows, mesh.coordinate());
    s.parameter(name, dtensor(test::numbered(dtype::f32, box.extents(), rank), mesh, rows, {7, 5}));
  }
  s.parameter("norm", test::numbered(dtype::bf16, {9}, rank));
  s.parameter("transposed", test::numbered(dtype::f32, {3, 4}, rank).transpose(0, 1));
  for (auto const type : every_dtype)
    s.buffer("buffer " + std::string(name_of(type)), test::numbered(type, {3, 5}, rank));
  s.buffer("steps", test::numbered(dtype::i64, shape(), rank));
  s.buffer("nothing", test::numbered(dtype::f32, {0, 4}, rank));
  return s;
}

void check_equal(model_states const& a, model_states const& b) {
  for (auto const table : {&model_states::parameters, &model_states::buffers})
    for (auto const& [name, s] : (a.*table)()) {
      CAPTURE(name);
      CHECK(equal(s.local(), (b.*table)().find(name)->second.local()));
    }
}

asio::awaitable<void> replicas(world w) {
  auto mesh = co_await init_device_mesh(w, shape(2, 2), mesh_names("replicate", "shard"));
  int const me = w.rank().value();
  auto const mine = states_of(mesh, me);
  co_await broadcast_dtensor_model_states(mine, mesh);
  check_equal(mine, states_of(mesh, me % 2));  // ranks 2 and 3 have what 0 and 1 have
  auto again = broadcast_dtensor_model_states(mine, mesh);
  auto at_once = broadcast_dtensor_model_states(states_of(mesh, 7), mesh);
  co_await std::move(at_once);
  co_await std::move(again);
  co_await mesh.close();
}

asio::awaitable<void> one_replica(world w) {
  auto mesh = co_await init_device_mesh(w, shape(1, 3), mesh_names("replicate", "shard"));
  auto const mine = states_of(mesh, w.rank().value());
  auto done = broadcast_dtensor_model_states(mine, mesh);
  CHECK(done.ready());
  check_equal(mine, states_of(mesh, w.rank().value()));
  co_await mesh.close();
}

asio::awaitable<void> states_that_differ(world w) {
  auto mesh = co_await init_device_mesh(w, shape(3), mesh_names("replicate"));
  int const me = w.rank().value();
  model_states s;
  s.parameter("weight", test::numbered(dtype::f32, {4}, me));
  if (me == 1) s.buffer("mean", test::numbered(dtype::f32, {2}, me));
  auto more = co_await outcome_of(broadcast_dtensor_model_states(s, mesh));
  CHECK(more.code == errc::mismatch);
  CHECK(more.says("world rank 0 has no more states, world rank 1 has \"buffer mean f32[2]\""));
  CHECK(equal(s.parameters().find("weight")->second.local(), test::numbered(dtype::f32, {4}, me)));

  model_states other;
  auto const rows = me == 2 ? shape(5) : shape(4);
  other.parameter("weight", test::numbered(dtype::f32, rows, me));
  auto shapes = co_await outcome_of(broadcast_dtensor_model_states(other, mesh));
  CHECK(shapes.code == errc::mismatch);
  CHECK(shapes.says("\"parameter weight f32[4]\", world rank 2 has \"parameter weight f32[5]\""));

  model_states right;
  right.parameter("weight", test::numbered(dtype::f32, {4}, me));
  co_await broadcast_dtensor_model_states(right, mesh);
  check_equal(right, model_states().parameter("weight", test::numbered(dtype::f32, {4}, 0)));
  auto no_such = co_await outcome_of(
      broadcast_dtensor_model_states(right, device_mesh(mesh_layout(rank_group::of(0), shape(1)))));
  CHECK(no_such.code == errc::invalid_argument);
  CHECK(no_such.says("replicate"));
}

// Larger than a bucket, contiguous and not, beside small ones.
asio::awaitable<void> large(world w) {
  auto mesh = co_await init_device_mesh(w, shape(2), mesh_names("replicate"));
  int const me = w.rank().value();
  std::int64_t const rows = static_cast<std::int64_t>(broadcast_bucket_max) / 4096 + 7;
  model_states s;
  s.parameter("a", tensor::full(dtype::u8, {100}, me + 1));
  s.parameter("b", tensor::arange(dtype::i32, {rows, 1024}, me));
  s.parameter("c", tensor::arange(dtype::i32, {rows, 1024}, me).transpose(0, 1));
  co_await broadcast_dtensor_model_states(s, mesh);
  CHECK(equal(s.parameters().find("a")->second.local(), tensor::full(dtype::u8, {100}, 1)));
  auto const right = tensor::arange(dtype::i32, {rows, 1024});
  CHECK(equal(s.parameters().find("b")->second.local(), right));
  CHECK(equal(s.parameters().find("c")->second.local(), right.transpose(0, 1)));
}

}  // namespace

TEST_CASE(
    "the second replica gets the first one's shards, every dtype, scalar, empty, transposed") {
  test::run_everywhere(4, replicas);
}

TEST_CASE("one replica alone sends nothing") { test::run_everywhere(3, one_replica); }

TEST_CASE("one state more, or another shape, is named on every rank, and nothing is written") {
  test::run_everywhere(3, states_that_differ);
}

TEST_CASE("states larger than a bucket go in several") { test::run_ranks(2, large); }

TEST_CASE("a name is one state's") {
  model_states s;
  s.parameter("a", tensor::zeros(dtype::u8, {1}));
  CHECK(test::is_refused(
      test::refusal([&] { return s.buffer("a", tensor::zeros(dtype::u8, {1})), 0; })));
}
