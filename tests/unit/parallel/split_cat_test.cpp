// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <hocket/parallel/context_parallel.hpp>
#include <refusal.hpp>
#include <vector>

#include "programs.hpp"

using namespace hocket;
using test::outcome;
using test::outcome_of;
using test::run_everywhere;
namespace asio = boost::asio;

namespace {

asio::awaitable<void> middle_dimension(world w) {
  auto g = w.group();
  int const me = g.rank().value();
  auto x = tensor::arange(dtype::i32, {2, 3, 4});
  auto part = split_inputs_cp(x, 1, g);
  CHECK(part.shape() == shape(2, 1, 4));
  CHECK(part.is_contiguous());
  CHECK_FALSE(part.shares_storage(x));
  for (int k = 0; k < 4; ++k) {
    CHECK(part.item<std::int32_t>(0, 0, k) == 4 * me + k);
    CHECK(part.item<std::int32_t>(1, 0, k) == 12 + 4 * me + k);
  }
  CHECK(equal(split_inputs_cp(x, -2, g), part));
  auto whole = co_await cat_outputs_cp(part, 1, g);
  CHECK(equal(whole, x));
  auto again = co_await cat_outputs_cp(part, -2, g);
  CHECK(equal(again, x));
  auto const story = test::refusal([&] { return split_inputs_cp(x, 3, g); });
  CHECK(test::is_refused(story));
  auto wrong = co_await outcome_of(cat_outputs_cp(part, 3, g));
  CHECK(wrong.code == errc::invalid_argument);
  auto afterwards = co_await cat_outputs_cp(part, 1, g);
  CHECK(equal(afterwards, x));
}

asio::awaitable<void> every_dtype_dimension_and_view(world w) {
  auto g = w.group();
  int const n = g.size();
  for (auto type : {dtype::boolean, dtype::u8, dtype::bf16, dtype::f32, dtype::c128}) {
    auto x = tensor::arange(type, {n, 2 * n, 3 * n});
    auto turned = x.transpose(0, 2);
    for (int dim = 0; dim < 3; ++dim) {
      auto part = split_inputs_cp(turned, dim, g);
      auto whole = co_await cat_outputs_cp(part, dim, g);
      CHECK(equal(whole, turned));
      auto from_view = co_await cat_outputs_cp(part.transpose(0, 1), dim, g);
      CHECK(from_view.size(dim) == n * part.transpose(0, 1).size(dim));
    }
  }
}

asio::awaitable<void> any_length(world w) {
  auto g = w.group();
  int const n = g.size();
  for (std::int64_t length : {0, 1, 2, 3, 17, 64, 250}) {
    auto x = tensor::arange(dtype::i64, {2, length, 3});
    for (auto how : {layout::balanced, layout::padded}) {
      auto plan = make_split_plan(how, x.shape(), n, 1);
      auto part = split_inputs_cp(x, plan, g);
      CHECK(equal(split_inputs_cp(x, 1, g, how), part));
      auto whole = co_await cat_outputs_cp(part, plan, g);
      CHECK(equal(whole, x));
    }
  }
  auto x = tensor::arange(dtype::f64, {6 * n, 5});
  auto plan = make_split_plan(layout::zigzag, x.shape(), n, 0);
  auto part = split_inputs_cp(x, plan, g);
  auto whole = co_await cat_outputs_cp(part, plan, g);
  CHECK(equal(whole, x));
}

asio::awaitable<void> indivisible(world w) {
  auto g = w.group();
  int const me = g.rank().value();
  constexpr std::int64_t length = 57826;
  auto x = tensor::arange(dtype::i32, {length, 1});
  auto const story = test::refusal([&] { return split_inputs_cp(x, 0, g); });
  CHECK(story.find("57826 % 8 = 2") != std::string::npos);
  CHECK(x.item<std::int32_t>(57825, 0) == 57825);

  auto balanced = make_split_plan(layout::balanced, x.shape(), 8, 0);
  auto part = split_inputs_cp(x, balanced, g);
  CHECK(part.size(0) == (me < 2 ? 7229 : 7228));
  auto whole = co_await cat_outputs_cp(part, balanced, g);
  CHECK(equal(whole, x));

  auto padded = make_split_plan(layout::padded, x.shape(), 8, 0);
  part = split_inputs_cp(x, padded, g);
  CHECK(part.size(0) == 57832 / 8);
  if (me == 7) CHECK(part.item<std::int32_t>(7228, 0) == 0);
  whole = co_await cat_outputs_cp(part, padded, g);
  CHECK(equal(whole, x));
}

asio::awaitable<void> padding_in_the_middle(world w) {
  auto g = w.group();
  int const me = g.rank().value();
  auto seven = tensor::arange(dtype::i16, {7});
  auto plan = make_split_plan(layout::padded, 7, g.size(), 0);
  auto part = split_inputs_cp(seven, plan, g);
  CHECK(part.shape() == shape(2));
  if (me == 3) {
    CHECK(part.item<std::int16_t>(0) == 6);
    CHECK(part.item<std::int16_t>(1) == 0);
  }
  auto whole = co_await cat_outputs_cp(part, plan, g);
  CHECK(equal(whole, seven));

  auto ten = tensor::arange(dtype::i16, {10});
  auto range = make_split_plan(layout::padded, 5, g.size(), 0);
  auto first = cat_outputs_cp(split_inputs_cp(ten.slice(0, 0, 5), range, g), range, g);
  auto second = cat_outputs_cp(split_inputs_cp(ten.slice(0, 5, 5), range, g), range, g);
  auto b = co_await std::move(second);
  auto a = co_await std::move(first);
  CHECK(equal(a, ten.slice(0, 0, 5)));
  CHECK(equal(b, ten.slice(0, 5, 5)));
}

asio::awaitable<void> nothing_to_move(world w) {
  auto g = w.group();
  auto empty = tensor::zeros(dtype::f32, {1, 0, 2});
  CHECK(split_inputs_cp(empty, 1, g).shape() == shape(1, 0, 2));
  auto whole = co_await cat_outputs_cp(empty, 1, g);
  CHECK(whole.shape() == shape(1, 0, 2));
  co_await g.barrier();
  std::vector<std::int64_t> const sizes{3, 0, 2, 0};
  auto plan = make_split_plan(sizes, 0);
  auto x = tensor::arange(dtype::i32, {5, 2});
  auto part = split_inputs_cp(x, plan, g);
  CHECK(part.size(0) == sizes[static_cast<std::size_t>(g.rank().value())]);
  auto joined = co_await cat_outputs_cp(part, plan, g);
  CHECK(equal(joined, x));
  co_await g.barrier();
}

asio::awaitable<void> other_plans(world w) {
  auto g = w.group();
  int const me = g.rank().value();
  auto x = tensor::arange(dtype::f32, {2, 3, 6});
  auto along_1 = make_split_plan(layout::strict, x.shape(), 3, 1);
  auto along_2 = make_split_plan(layout::strict, x.shape(), 3, 2);
  auto part = split_inputs_cp(x, along_1, g);
  auto refused = co_await outcome_of(cat_outputs_cp(part, along_2, g));
  CHECK(refused.code == errc::invalid_argument);
  CHECK(refused.says("[2,1,6]"));
  CHECK(refused.says("along dimension 2"));

  auto mine = me == 1 ? split_inputs_cp(x, along_2, g) : part;
  auto plan = me == 1 ? along_2 : along_1;
  auto mixed = co_await outcome_of(cat_outputs_cp(mine, plan, g));
  CHECK(mixed.code == errc::mismatch);
  CHECK(mixed.says("split plans differ"));

  auto uneven = tensor::zeros(me == 2 ? dtype::f64 : dtype::f32, {2, 4});
  auto dtypes = co_await outcome_of(cat_outputs_cp(uneven, 0, g));
  CHECK(dtypes.code == errc::mismatch);
  CHECK(dtypes.says("f64[2,4]"));
  auto longer = tensor::zeros(dtype::f32, {me == 0 ? 3 : 2, 4});
  auto shapes = co_await outcome_of(cat_outputs_cp(longer, 0, g));
  CHECK(shapes.code == errc::mismatch);
  CHECK(shapes.says("rank 0 all_gather f32[3,4]"));

  auto given = me == 1 ? tensor() : part;
  auto missing = co_await outcome_of(cat_outputs_cp(given, 1, g));
  CHECK(missing.code == (me == 1 ? errc::invalid_argument : errc::peer_failed));
  auto four = make_split_plan(layout::strict, 4, 4, 0);
  auto const story = test::refusal([&] { return split_inputs_cp(x, four, g); });
  CHECK(story.find("has 4 parts") != std::string::npos);
  auto whole = co_await cat_outputs_cp(part, 1, g);
  CHECK(equal(whole, x));
}

asio::awaitable<void> own_slice_of_the_gradient(world w) {
  auto g = w.group();
  int const n = g.size();
  auto x = tensor::arange(dtype::f32, {2, 2 * n, 3});
  auto gathered = co_await cat_outputs_cp_with_grad(split_inputs_cp(x, 1, g), 1, g);
  CHECK(equal(gathered.value, x));
  auto grad = test::numbered(dtype::f32, {2, 2 * n, 3}, g.rank().value());
  CHECK(equal(gathered.pullback(grad), split_inputs_cp(grad, 1, g)));
  CHECK(test::is_refused(test::refusal([&] { return gathered.pullback(x.select(0, 0)); })));

  auto zigzag = make_split_plan(layout::zigzag, x.shape(), n, 1);
  auto turned = co_await cat_outputs_cp_with_grad(split_inputs_cp(x, zigzag, g), zigzag, g);
  CHECK(equal(turned.value, x));
  CHECK(equal(turned.pullback(grad), split_inputs_cp(grad, zigzag, g)));
}

}  // namespace

TEST_CASE("a split along the middle dimension takes each rank's rows, and cat restores them") {
  run_everywhere(3, middle_dimension);
}
TEST_CASE("cat undoes split for every dtype size, every dimension and transposed views") {
  for (int n : {1, 2, 3, 5}) run_everywhere(n, every_dtype_dimension_and_view);
}
TEST_CASE("balanced, padded and zigzag parts of any length gather to the whole") {
  for (int n : {1, 3, 4, 5}) run_everywhere(n, any_length);
}
TEST_CASE("57826 rows over 8 ranks: strict refuses with numbers, balanced and padded restore") {
  run_everywhere(8, indivisible);
}
TEST_CASE("padding is trimmed at the end of every range, also in the middle") {
  run_everywhere(4, padding_in_the_middle);
}
TEST_CASE("tensors and parts without elements keep their shape") {
  run_everywhere(4, nothing_to_move);
}
TEST_CASE("ranks that disagree on plan, shape or dtype are all told, and the channel goes on") {
  run_everywhere(3, other_plans);
}
TEST_CASE("the pullback of a gather is this rank's own slice, unscaled") {
  for (int n : {1, 2, 3}) run_everywhere(n, own_slice_of_the_gradient);
}
