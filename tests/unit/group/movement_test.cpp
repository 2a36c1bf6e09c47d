// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Every operation that moves tensors, over shapes, layouts in memory, and numbers of ranks.
#include <hocket/tensor/split_plan.hpp>
#include <ranks.hpp>
#include <vector>

#include "patterns.hpp"

using namespace hocket;
using namespace hocket::test;
namespace asio = boost::asio;

namespace {

struct setup {
  setup(dtype t, hocket::shape const& s, form i, form o) : type(t), part(s), in(i), out(o) {}
  dtype type;
  hocket::shape part;  // what one rank gives
  form in, out;
};

hocket::shape stacked(setup const& s, int n) {
  if (s.part.size() == 0) return hocket::shape(n);
  auto whole = s.part;
  whole.set(0, n * s.part[0]);
  return whole;
}

tensor whole_of(setup const& s, int n) {
  auto whole = tensor::empty(s.type, stacked(s, n));
  for (int r = 0; r < n; ++r) {
    auto const rows = s.part.size() == 0 ? 1 : s.part[0];
    auto const place = whole.slice(0, r * rows, rows);
    auto const part = patterned(s.type, s.part, r);
    copy(s.part.size() == 0 ? place.select(0, 0) : place, part);
  }
  return whole;
}

asio::awaitable<void> gathers(process_group g, setup s) {
  int const n = g.size();
  int const me = g.rank().value();
  auto const want = whole_of(s, n);
  auto const in = as(s.in, patterned(s.type, s.part, me));
  auto out = laid_out(s.out, s.type, want.shape());
  co_await g.all_gather(out, in);
  CHECK(equal(out, want));

  int const root = n - 1;
  auto out_at_root = me == root ? laid_out(s.out, s.type, want.shape()) : tensor();
  co_await g.gather(out_at_root, in, group_rank(root));
  if (me == root) CHECK(equal(out_at_root, want));
}

asio::awaitable<void> scatters(process_group g, setup s) {
  int const n = g.size();
  int const me = g.rank().value();
  int const root = n / 2;
  auto const whole = me == root ? as(s.in, whole_of(s, n)) : tensor();
  auto out = laid_out(s.out, s.type, s.part);
  co_await g.scatter(out, whole, group_rank(root));
  CHECK(equal(out, patterned(s.type, s.part, me)));

  auto t = me == root ? as(s.in, patterned(s.type, s.part, 77)) : laid_out(s.out, s.type, s.part);
  co_await g.broadcast(t, group_rank(root));
  CHECK(equal(t, patterned(s.type, s.part, 77)));

  std::optional<tensor> some;
  if (me == root) some = as(s.in, patterned(s.type, s.part, 78));
  auto const sent = some;
  auto const got = co_await g.broadcast(some, group_rank(root));
  CHECK(got.has_value());
  CHECK(equal(*got, patterned(s.type, s.part, 78)));
  if (me == root) CHECK(got->same_object(*sent));
}

asio::awaitable<void> messages(process_group g, setup s) {
  int const n = g.size();
  int const me = g.rank().value();
  int const before = (me + n - 1) % n;
  group_rank const next((me + 1) % n);
  auto const mine = as(s.in, patterned(s.type, s.part, me));
  g.send(mine, next);
  auto into = laid_out(s.out, s.type, s.part);
  co_await g.recv(into, group_rank(before));
  CHECK(equal(into, patterned(s.type, s.part, before)));
  g.send(mine, next);
  auto const got = co_await g.recv(group_rank(before));
  CHECK(equal(got, into));
  co_await g.barrier();
}

asio::awaitable<void> all_of_it(process_group g, setup s) {
  co_await gathers(g, s);
  co_await scatters(g, s);
  co_await messages(g, s);
}

void run(int n, setup const& s) {
  run_ranks_everywhere(n, [s](world w) { return all_of_it(w.group(), s); });
}

asio::awaitable<void> in_sub_group(world w, rank_group members, setup s) {
  if (!members.contains(w.rank())) co_return;
  auto const g = co_await make_group(w, members);
  CHECK(g.members() == members);
  co_await all_of_it(g, s);
}

// Parts of any sizes, in a layout's plan, and in one given by the caller.
asio::awaitable<void> parts_of_any_size(process_group g, split_plan plan, hocket::shape full) {
  int const me = g.rank().value();
  auto const whole = patterned(dtype::f32, full, 5);
  auto const part = split(whole, plan, me);
  auto out = laid_out(form::strided, dtype::f32, full);
  co_await g.all_gather_v(out, part, plan);
  CHECK(equal(out, whole));
  group_rank const root(g.size() - 1);
  bool const here = g.rank() == root;
  auto at_root = here ? tensor::empty(dtype::f32, full) : tensor();
  co_await g.gather_v(at_root, part, plan, root);
  if (here) CHECK(equal(at_root, whole));
  auto back = tensor::zeros(dtype::f32, part.shape());
  auto const source = here ? whole : tensor();
  co_await g.scatter_v(back, source, plan, root);
  CHECK(equal(back, part));
  std::optional<tensor> given;
  if (here) given = whole;
  auto const how = plan.layout() == layout::uneven ? layout::padded : plan.layout();
  auto const got = co_await g.scatter(given, static_cast<std::int64_t>(plan.dim()), how, root);
  CHECK(got.has_value());
  if (plan.layout() != layout::uneven) CHECK(equal(*got, part));
}

}  // namespace

TEST_CASE("gather, scatter, broadcast and messages keep every element of odd shapes") {
  for (int n : {1, 2, 3, 5})
    for (auto const& s : {hocket::shape(1), hocket::shape(3, 5), hocket::shape(7, 1, 3)})
      run(n, setup(dtype::f32, s, form::contiguous, form::contiguous));
}

TEST_CASE("transposed inputs and strided outputs arrive element for element") {
  for (int n : {1, 2, 3, 5})
    for (auto const in : {form::transposed, form::strided})
      for (auto const out : {form::transposed, form::strided})
        run(n, setup(dtype::i16, hocket::shape(3, 2, 5), in, out));
}

TEST_CASE("zero-size and scalar tensors take part in every operation") {
  for (int n : {1, 2, 3, 5})
    for (auto const& s :
         {hocket::shape(), hocket::shape(0), hocket::shape(1, 0, 2), hocket::shape(0, 3)})
      run(n, setup(dtype::f64, s, form::contiguous, form::strided));
}

TEST_CASE("all 17 dtypes are moved bit for bit") {
  for (int type = 0; type < dtype_count; ++type)
    run(3, setup(static_cast<dtype>(type), hocket::shape(3, 5), form::transposed, form::strided));
}

TEST_CASE("large tensors, which the progress thread moves, arrive element for element") {
  for (int n : {2, 3})
    run(n, setup(dtype::f32, hocket::shape(129, 257), form::transposed, form::strided));
}

TEST_CASE(
    "groups without rank 0, and in an order of their own, put parts in the order of their list") {
  setup const s(dtype::i32, hocket::shape(3, 2), form::transposed, form::contiguous);
  for (auto const& members : {rank_group::of(1, 2), rank_group::of(4, 3, 2, 1),
                              rank_group::of(5, 2), rank_group::of(3), rank_group::of(2, 0, 1)})
    run_ranks_everywhere(6, [=](world w) { return in_sub_group(w, members, s); });
}

TEST_CASE("parts by a plan of any layout are gathered and scattered, also empty ones") {
  for (int n : {1, 2, 3, 5}) {
    for (auto const how : {layout::balanced, layout::padded}) {
      hocket::shape const full(2, 7, 3);
      auto const plan = make_split_plan(how, full, n, 1);
      run_ranks_everywhere(n, [=](world w) { return parts_of_any_size(w.group(), plan, full); });
    }
    hocket::shape const full(4 * n, 3);
    auto const zigzag = make_split_plan(layout::zigzag, full, n, 0);
    run_ranks_everywhere(n, [=](world w) { return parts_of_any_size(w.group(), zigzag, full); });
    std::vector<std::int64_t> sizes;
    for (int r = 0; r < n; ++r) sizes.push_back(r == 1 ? 0 : 2 * r + 1);
    auto const uneven = make_split_plan(sizes, 0);
    hocket::shape const rows(uneven.length(), 2);
    run_ranks_everywhere(n, [=](world w) { return parts_of_any_size(w.group(), uneven, rows); });
  }
}
