// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// All 17 dtypes through every way of moving tensors, bit for bit: any bits, NaNs of all kinds too.
#include <doctest/doctest.h>

#include <hocket/parallel/context_parallel.hpp>
#include <map>
#include <string>

#include "../group/patterns.hpp"
#include "programs.hpp"

using namespace hocket;
using test::as;
using test::form;
using test::patterned;
namespace asio = boost::asio;

namespace {

asio::awaitable<void> split_and_cat(process_group g, dtype type) {
  auto const x = as(form::transposed, patterned(type, {3, 14, 5}, 1));
  for (auto const how : {layout::balanced, layout::padded}) {
    auto const plan = make_split_plan(how, x.shape(), g.size(), 1);
    auto part = split_inputs_cp(x, plan, g);
    CHECK(part.dtype() == type);
    auto whole = co_await cat_outputs_cp(part, plan, g);
    CHECK(equal(whole, x));
  }
  auto const zigzag = make_split_plan(layout::zigzag, shape(3, 12, 5), g.size(), 1);
  auto const even = x.slice(1, 0, 12);
  auto gathered = co_await cat_outputs_cp_with_grad(split_inputs_cp(even, zigzag, g), zigzag, g);
  CHECK(equal(gathered.value, even));
  CHECK(equal(gathered.pullback(even), split_inputs_cp(even, zigzag, g)));
}

asio::awaitable<void> broadcasts(process_group g, dtype type) {
  auto const x = as(form::strided, patterned(type, {6, 5}, 2));
  std::optional<tensor> given;
  if (g.rank().value() == 0) given = x;
  auto whole = co_await broadcast(given, g);
  CHECK(equal(*whole, x));
  auto part = co_await broadcast_split_tensor(given, 0, g);
  CHECK(equal(*part, x.slice(0, 2 * g.rank().value(), 2)));
  std::map<std::string, tensor> values;
  if (g.rank().value() == 0) values["latent"] = x;
  auto got = co_await broadcast(values, g);
  CHECK(equal(got.at("latent"), x));
}

asio::awaitable<void> exchanges(process_group g, dtype type) {
  int const n = g.size();
  int const me = g.rank().value();
  auto in = as(form::transposed, patterned(type, {2 * n, 3}, me));
  auto out = as(form::strided, patterned(type, {2 * n, 3}, 99));
  co_await g.all_to_all(out, in);
  for (int r = 0; r < n; ++r)
    CHECK(equal(out.slice(0, 2 * r, 2), patterned(type, {2 * n, 3}, r).slice(0, 2 * me, 2)));
  batch b;
  b.send(in, group_rank((me + 1) % n)).recv(group_rank((me + n - 1) % n));
  auto const got = co_await g.run(b);
  CHECK(equal(got[0], patterned(type, {2 * n, 3}, (me + n - 1) % n)));
}

asio::awaitable<void> all_dtypes(world w) {
  for (int i = 0; i < dtype_count; ++i) {
    auto const type = static_cast<dtype>(i);
    co_await split_and_cat(w.group(), type);
    co_await broadcasts(w.group(), type);
    co_await exchanges(w.group(), type);
  }
}

}  // namespace

TEST_CASE("every dtype is split, gathered, broadcast, exchanged and put into objects bit for bit") {
  test::run_everywhere(3, all_dtypes);
}
