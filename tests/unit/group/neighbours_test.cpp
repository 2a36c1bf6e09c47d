// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Outputs that are views: what lies between and around their elements stays as it is.
#include <doctest/doctest.h>

#include <functional>
#include <vector>

#include "every_call.hpp"
#include "virtual_world.hpp"

using namespace hocket;
using namespace hocket::test;

namespace {

constexpr int ranks = 3;
constexpr std::int32_t untouched = -77;

// A view of every second column of the middle rows of a larger tensor.
class framed {
 public:
  framed(std::int64_t rows, std::int64_t columns)
      : around_(tensor::full(dtype::i32, {rows + 2, columns, 2}, untouched)),
        view(around_.slice(0, 1, rows).select(2, 0)) {}
  [[nodiscard]] bool neighbours_kept() const {
    auto const all = around_.as_span<std::int32_t>();
    auto const columns = around_.size(1);
    for (std::int64_t i = 0; i < around_.numel(); ++i) {
      auto const row = i / (2 * columns);
      bool const inside = i % 2 == 0 && row > 0 && row + 1 < around_.size(0);
      if (!inside && all[static_cast<std::size_t>(i)] != untouched) return false;
    }
    return true;
  }

 private:
  tensor around_;

 public:
  tensor view;
};

tensor mine(int rank, std::int64_t rows) {
  return as(form::transposed, patterned(dtype::i32, {rows, 4}, rank));
}

using fill = std::function<work<>(process_group const&, tensor const& out)>;

// `result` is what rank 1's output must be.
void check(std::int64_t rows, fill const& call, tensor const& result) {
  virtual_world v(ranks);
  std::vector<framed> outs;
  std::vector<work<>> done;
  for (int r = 0; r < ranks; ++r) outs.emplace_back(rows, 4);
  for (int r = 0; r < ranks; ++r)
    done.push_back(call(v.group(r), outs[static_cast<std::size_t>(r)].view));
  for (int r = 0; r < ranks; ++r) {
    CHECK_FALSE(now(done[static_cast<std::size_t>(r)]).code);
    CHECK(outs[static_cast<std::size_t>(r)].neighbours_kept());
  }
  CHECK(equal(outs[1].view, result));
}

tensor stacked(std::function<tensor(int)> const& part) {
  auto const rows = part(0).size(0);
  auto all = tensor::empty(dtype::i32, {ranks * rows, 4});
  for (int r = 0; r < ranks; ++r) copy(all.slice(0, r * rows, rows), part(r));
  return all;
}

}  // namespace

TEST_CASE("collectives that write to a view leave the elements around it alone") {
  group_rank const root(1);
  auto const of = [](process_group const& g, std::int64_t rows) {
    return mine(g.rank().value(), rows);
  };
  auto const whole = stacked([](int r) { return mine(r, 2); });
  check(
      2,
      [&](auto const& g, tensor const& out) {
        if (g.rank() == root) copy(out, mine(1, 2));
        return g.broadcast(out, root);
      },
      mine(1, 2));
  check(
      6, [&](auto const& g, tensor const& out) { return g.all_gather(out, of(g, 2)); }, whole);
  check(
      6, [&](auto const& g, tensor const& out) { return g.gather(out, of(g, 2), root); }, whole);
  check(
      2, [&](auto const& g, tensor const& out) { return g.scatter(out, of(g, 6), root); },
      mine(1, 6).slice(0, 2, 2));
  check(
      6, [&](auto const& g, tensor const& out) { return g.all_to_all(out, of(g, 6)); },
      stacked([](int r) { return mine(r, 6).slice(0, 2, 2); }));
  auto const same = [&](std::int64_t rows) { return tensor::full(dtype::i32, {rows, 4}, 21); };
  auto const seven = [](std::int64_t rows) { return tensor::full(dtype::i32, {rows, 4}, 7); };
  check(
      2, [&](auto const& g, tensor const& out) { return g.all_reduce(out, seven(2)); }, same(2));
  check(
      2,
      [&](auto const& g, tensor const& out) {
        return g.reduce(out, seven(2), reduction::sum, root);
      },
      same(2));
  check(
      2, [&](auto const& g, tensor const& out) { return g.reduce_scatter(out, seven(6)); },
      same(2));
}

TEST_CASE("messages and parts by a plan that go to a view leave the elements around it alone") {
  check(
      5,
      [](auto const& g, tensor const& out) {
        int const me = g.rank().value();
        g.send(mine(me, 5), group_rank((me + 1) % ranks));
        return g.recv(out, group_rank((me + 2) % ranks));
      },
      mine(0, 5));
  auto const full = patterned(dtype::i32, {7, 4}, 9);
  for (auto const how : {layout::balanced, layout::padded}) {
    auto const plan = make_split_plan(how, 7, ranks, 0);
    check(
        7,
        [&](auto const& g, tensor const& out) {
          return g.all_gather_v(out, split(full, plan, g.rank().value()), plan);
        },
        full);
  }
  auto const turned = patterned(dtype::i32, {12, 4}, 9);
  auto const zigzag = make_split_plan(layout::zigzag, 12, ranks, 0);
  check(
      4,
      [&](auto const& g, tensor const& out) {
        return g.scatter_v(out, turned, zigzag, group_rank(2));
      },
      split(turned, zigzag, 1));
}

TEST_CASE("the first column of a tensor is broadcast as two elements, not as its first bytes") {
  virtual_world v(4);
  std::vector<tensor> whole;
  std::vector<work<>> done;
  for (int r = 0; r < 4; ++r) {
    std::vector<std::int32_t> const values{r, r, r + 10, r + 10};
    whole.push_back(tensor::from(std::span(values), {2, 2}));
    done.push_back(v.group(r).broadcast(whole.back().select(1, 0), group_rank(0)));
  }
  for (int r = 0; r < 4; ++r) {
    CHECK_FALSE(now(done[static_cast<std::size_t>(r)]).code);
    std::vector<std::int32_t> const want{0, r, 10, r + 10};
    CHECK(equal(whole[static_cast<std::size_t>(r)], tensor::from(std::span(want), {2, 2})));
  }
}

TEST_CASE("one element seen many times can be given, and is refused where it would be written") {
  virtual_world v(2);
  auto const one = patterned(dtype::i32, {1}, 4);
  std::vector<std::int64_t> const strides{0};
  auto const many = tensor::from_storage(one.storage(), dtype::i32, {5}, strides, 0);
  v.group(0).send(many, group_rank(1));
  auto const got = v.group(1).recv(group_rank(0));
  CHECK(equal(got.state()->take(), many));
  v.group(0).send(tensor::zeros(dtype::i32, {5}), group_rank(1));
  auto const into = v.group(1).recv(many, group_rank(0));
  CHECK(now(into).code == errc::invalid_argument);
  CHECK_MESSAGE(now(into).tells("output i32[5]"), now(into).story);
  auto const theirs = v.group(0).broadcast(tensor::zeros(dtype::i32, {5}), group_rank(0));
  auto const mine = v.group(1).broadcast(many, group_rank(0));
  CHECK(now(mine).code == errc::invalid_argument);
  CHECK(now(theirs).code == errc::peer_failed);
  CHECK(equal(one, patterned(dtype::i32, {1}, 4)));
}
