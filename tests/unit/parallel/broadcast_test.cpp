// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <cstdint>
#include <hocket/parallel/context_parallel.hpp>
#include <optional>
#include <string>
#include <vector>

#include "programs.hpp"

using namespace hocket;
using test::numbered;
using test::outcome;
using test::outcome_of;
using test::run_everywhere;
namespace asio = boost::asio;

namespace {

asio::awaitable<void> only_the_first_has_it(world w) {
  auto g = w.group();
  bool const first = g.rank().value() == 0;
  auto const x = numbered(dtype::f32, {2, 8, 4}, 0);
  std::optional<tensor> given;
  if (first) given = x;
  auto got = co_await broadcast(given, g);
  CHECK(got.has_value());
  CHECK(equal(*got, x));
  CHECK(got->same_object(x) == first);

  auto part = co_await broadcast_split_tensor(given, 1, g);
  CHECK(equal(*part, split_inputs_cp(x, 1, g)));

  std::optional<std::string> text;
  if (first) text = "a house by the sea";
  auto read = co_await broadcast(text, g);
  CHECK(read == "a house by the sea");

  std::optional<tensor> const nothing;
  auto none = co_await broadcast(nothing, g);
  CHECK_FALSE(none.has_value());
  none = co_await broadcast_split_tensor(nothing, 1, g);
  CHECK_FALSE(none.has_value());
  std::optional<std::string> const silence;
  auto quiet = co_await broadcast(silence, g);
  CHECK_FALSE(quiet.has_value());
}

asio::awaitable<void> the_first_wins(world w) {
  auto g = w.group();
  int const me = g.rank().value();
  std::optional<tensor> given;
  if (me != 0) given = numbered(dtype::f32, {2, 8, 4}, me);
  auto got = co_await broadcast(given, g);
  CHECK_FALSE(got.has_value());
  auto part = co_await broadcast_split_tensor(given, 1, g);
  CHECK_FALSE(part.has_value());
  auto mine = numbered(me == 1 ? dtype::f64 : dtype::i32, {me + 1}, me);
  auto tensor_of_first = co_await broadcast(mine, g);
  CHECK(equal(tensor_of_first, numbered(dtype::i32, {1}, 0)));
  auto text = co_await broadcast(std::string(static_cast<std::size_t>(3 * me), 'x') + "!", g);
  CHECK(text == "!");
  auto literal = co_await broadcast(me == 0 ? "zero" : "not zero", g);
  CHECK(literal == "zero");
}

asio::awaitable<void> from_the_smallest_world_rank(world w) {
  int const me = w.rank().value();
  auto list = me % 2 == 0 ? rank_group::of(4, 2, 0) : rank_group::of(5, 3, 1);
  auto g = co_await make_group(w, list);
  auto got = co_await broadcast(numbered(dtype::i64, {3}, me), g);
  CHECK(equal(got, numbered(dtype::i64, {3}, me % 2)));
  auto text = co_await broadcast(std::to_string(me), g);
  CHECK(text == std::to_string(me % 2));
  std::optional<tensor> given;
  if (me < 2) given = numbered(dtype::i32, {6, 2}, me);
  auto part = co_await broadcast_split_tensor(given, 0, g);
  auto const whole = numbered(dtype::i32, {6, 2}, me % 2);
  CHECK(equal(*part, whole.slice(0, 2 * g.rank().value(), 2)));

  auto by_place = numbered(dtype::i32, {2}, me);
  co_await g.broadcast(by_place, group_rank(1));
  CHECK(equal(by_place, numbered(dtype::i32, {2}, me % 2 == 0 ? 2 : 3)));
  auto by_rank = numbered(dtype::i32, {2}, me);
  auto stranger = co_await outcome_of(g.broadcast(by_rank, world_rank(me % 2 == 0 ? 1 : 0)));
  CHECK(stranger.code == errc::not_a_member);
  CHECK(stranger.says("is not in group"));
}

class conditions {
 public:
  conditions() = default;
  tensor latent, mask;
  std::string empty, prompt;
  bool is_video = false;
  std::int64_t steps = 0;
  std::optional<double> guidance;
};

template <class V>
void hocket_describe(V& v, conditions& c) {
  v(c.latent, "latent");
  v(c.mask, "mask");
  v(c.empty, "empty");
  v(c.prompt, "prompt");
  v(c.is_video, "is_video");
  v(c.steps, "steps");
  v(c.guidance, "guidance");
}

conditions make_conditions() {
  conditions c;
  c.latent = numbered(dtype::f32, {3, 5}, 0);
  c.mask = tensor::arange(dtype::boolean, {7});
  c.prompt.assign(std::size_t{1} << 20, 'p');
  c.prompt += "end";
  c.is_video = true;
  c.steps = -35;
  return c;
}

asio::awaitable<void> fields_of_a_request(world w) {
  auto g = w.group();
  auto other = co_await make_group(w, rank_group::consecutive(world_rank(0), w.size()));
  bool const first = w.rank().value() == 0;
  auto const right = make_conditions();
  auto const mine = first ? right : conditions();
  auto got = co_await broadcast(mine, g);
  CHECK(equal(got.latent, right.latent));
  CHECK(equal(got.mask, right.mask));
  CHECK(got.prompt == right.prompt);
  CHECK(got.empty.empty());
  CHECK(got.is_video);
  CHECK(got.steps == -35);
  CHECK_FALSE(got.guidance.has_value());

  auto latent = broadcast(mine.latent.defined() ? mine.latent : tensor(), g);
  auto beside = broadcast(numbered(dtype::i32, {4}, w.rank().value()), other);
  auto mask = broadcast(mine.mask, g);
  auto empty = broadcast(mine.empty, g);
  auto prompt = broadcast(mine.prompt, g);
  auto is_video = broadcast(mine.is_video, g);
  auto steps = broadcast(mine.steps, g);
  auto guidance = broadcast(mine.guidance, g);
  auto beside_got = co_await std::move(beside);
  CHECK(equal(beside_got, numbered(dtype::i32, {4}, 0)));
  auto none = co_await std::move(guidance);
  CHECK_FALSE(none.has_value());
  auto steps_got = co_await std::move(steps);
  CHECK(steps_got == -35);
  auto video_got = co_await std::move(is_video);
  CHECK(video_got);
  auto prompt_got = co_await std::move(prompt);
  CHECK(prompt_got == right.prompt);
  auto empty_got = co_await std::move(empty);
  CHECK(empty_got.empty());
  auto mask_got = co_await std::move(mask);
  CHECK(equal(mask_got, right.mask));
  auto latent_got = co_await std::move(latent);
  CHECK(equal(latent_got, right.latent));
}

asio::awaitable<void> what_cannot_be_given(world w) {
  auto g = w.group();
  bool const first = g.rank().value() == 0;
  auto undefined = co_await outcome_of(broadcast(tensor(), g));
  CHECK(undefined.code == (first ? errc::invalid_argument : errc::peer_failed));
  std::optional<tensor> given;
  if (first) given = tensor::zeros(dtype::f32, {2, 7});
  auto uneven = co_await outcome_of(broadcast_split_tensor(given, 1, g));
  CHECK(uneven.code == (first ? errc::invalid_argument : errc::peer_failed));
  CHECK(uneven.says("7 % 3 = 1"));
  auto balanced = co_await broadcast_split_tensor(given, 1, g, layout::balanced);
  CHECK(balanced->shape() == shape(2, first ? 3 : 2));
  auto dims = co_await outcome_of(broadcast_split_tensor(given, first ? 1 : 0, g));
  CHECK(dims.code == (first ? errc::invalid_argument : errc::peer_failed));
  auto scalar = co_await broadcast(tensor::full(dtype::f64, {}, 2.5), g);
  CHECK(scalar.item<double>() == 2.5);
  auto empty = co_await broadcast(tensor::zeros(dtype::f32, {0, 3}), g);
  CHECK(empty.shape() == shape(0, 3));
}

asio::awaitable<void> tensor_here_text_there(world w) {
  auto g = w.group();
  outcome o;
  if (g.rank().value() == 1) {
    o = co_await outcome_of(broadcast(std::string("text"), g));
  } else {
    o = co_await outcome_of(broadcast(numbered(dtype::f32, {2}, 0), g));
  }
  CHECK(o.code == errc::mismatch);
  CHECK(o.says("rank 1 broadcast_object"));
}

asio::awaitable<void> views_padded_to_the_ranks(world w) {
  auto g = w.group();
  std::optional<tensor> views;
  auto const seven = numbered(dtype::f32, {7, 2, 3}, 0);
  if (w.rank().value() == 0) views = seven;
  auto mine = co_await broadcast_split_tensor(views, 0, g, layout::padded);
  CHECK(mine->shape() == shape(1, 2, 3));
  auto plan = make_split_plan(layout::padded, 7, 8, 0);
  auto all = co_await cat_outputs_cp(*mine, plan, g);
  CHECK(equal(all, seven));
}

}  // namespace

TEST_CASE("a tensor, a string or nothing that only the first rank has reaches all ranks") {
  run_everywhere(4, only_the_first_has_it);
}
TEST_CASE("the first rank wins over what the others pass, also when it has nothing") {
  run_everywhere(4, the_first_wins);
}
TEST_CASE("broadcasts come from the smallest world rank, wherever it stands in its group") {
  run_everywhere(6, from_the_smallest_world_rank);
}
TEST_CASE("a request of tensors, strings and numbers travels as one object or field by field") {
  run_everywhere(3, fields_of_a_request);
}
TEST_CASE(
    "what cannot be broadcast or cut fails on all ranks with numbers, and the next call works") {
  run_everywhere(3, what_cannot_be_given);
}
TEST_CASE("a tensor on one rank and a string on another is a mismatch on both") {
  run_everywhere(3, tensor_here_text_there);
}
TEST_CASE("seven views are padded to eight ranks, gathered and trimmed") {
  run_everywhere(8, views_padded_to_the_ranks);
}
TEST_CASE("without a group every call gives back the same object at once") {
  auto const x = tensor::arange(dtype::f32, {2, 3});
  CHECK(split_inputs_cp(x, 1).same_object(x));
  auto const one = make_split_plan(layout::padded, x.shape(), 1, 1);
  CHECK(split_inputs_cp(x, one).same_object(x));
  using namespace std::chrono_literals;
  CHECK(cat_outputs_cp(x, 1).ready());
  CHECK(cat_outputs_cp(x, 1).get(0s).same_object(x));
  CHECK(cat_outputs_cp(x, one).get(0s).same_object(x));
  auto const gathered = cat_outputs_cp_with_grad(x, 1).get(0s);
  CHECK(gathered.value.same_object(x));
  CHECK(gathered.pullback(x).same_object(x));
  CHECK(broadcast(x).get(0s).same_object(x));
  CHECK(broadcast(std::optional<tensor>(x)).get(0s)->same_object(x));
  CHECK_FALSE(broadcast(std::optional<tensor>()).get(0s).has_value());
  CHECK(broadcast("text").get(0s) == "text");
  CHECK(broadcast_split_tensor(x, 1).get(0s)->same_object(x));
  auto const three = make_split_plan(layout::strict, 3, 3, 1);
  CHECK_THROWS_AS(static_cast<void>(split_inputs_cp(x, three)), error);
  CHECK_THROWS_AS(static_cast<void>(cat_outputs_cp(x, three).get(0s)), error);
}
