// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <map>
#include <ranks.hpp>
#include <string>
#include <vector>

#include "ending.hpp"

using namespace hocket;
using namespace hocket::test;
namespace asio = boost::asio;

namespace {

struct prompt {
  std::string text;
  std::int64_t steps = 0;
  std::optional<bool> guided;
  tensor latent;
};
template <class V>
void hocket_describe(V& v, prompt& p) {
  v(p.text, "text");
  v(p.steps, "steps");
  v(p.guided, "guided");
  v(p.latent, "latent");
}

prompt prompt_of(int i) {
  prompt p;
  p.text = i == 0 ? std::string() : std::string(static_cast<std::size_t>(i) * 300000, 'x');
  p.steps = 10 + i;
  if (i % 2 == 1) p.guided = true;
  p.latent = patterned(dtype::f32, {i, 3}, i).transpose(0, 1);
  return p;
}

void check_prompt(prompt const& p, int i) {
  auto const want = prompt_of(i);
  CHECK(p.text == want.text);
  CHECK(p.steps == want.steps);
  CHECK(p.guided == want.guided);
  CHECK(equal(p.latent, want.latent));
}

asio::awaitable<void> broadcasts(world w) {
  auto const g = w.group();
  bool const root = g.rank().value() == g.size() - 1;
  std::optional<prompt> given;
  if (root) given = prompt_of(3);
  auto handle = g.broadcast_object<prompt>(given, group_rank(g.size() - 1));
  // A tensor's gather overlaps with it.
  auto out = tensor::empty(dtype::i32, {g.size()});
  auto gather = g.all_gather(out, tensor::full(dtype::i32, {1}, g.rank().value()));
  auto const got = co_await work(handle);
  check_prompt(got, 3);
  auto second = co_await std::move(handle);  // every waiter decodes one of its own
  check_prompt(second, 3);
  co_await std::move(gather);
  CHECK(out.item<std::int32_t>(g.size() - 1) == g.size() - 1);
  auto const e = co_await ended(g.broadcast_object<std::string>(std::nullopt, group_rank(0)));
  CHECK(e.code == (g.rank().value() == 0 ? errc::invalid_argument : errc::peer_failed));
}

asio::awaitable<void> gathers_and_scatters(world w) {
  auto const g = w.group();
  int const n = g.size();
  int const me = g.rank().value();
  auto const all = co_await g.gather_objects(prompt_of(me), group_rank(0));
  if (me == 0) {
    CHECK(all.size() == static_cast<std::size_t>(n));
    for (int r = 0; r < n; ++r) check_prompt(all[static_cast<std::size_t>(r)], r);
  } else {
    CHECK(all.empty());
  }
  std::vector<prompt> values;
  if (me == n - 1)
    for (int r = 0; r < n; ++r) values.push_back(prompt_of(r + 1));
  auto const mine = co_await g.scatter_objects(values, group_rank(n - 1));
  check_prompt(mine, me + 1);
  std::vector<int> const wrong(static_cast<std::size_t>(n + 1));
  auto const e = co_await ended(g.scatter_objects(wrong, group_rank(0)));
  CHECK(e.code == (me == 0 ? errc::invalid_argument : errc::peer_failed));
  CHECK_MESSAGE(e.tells(std::to_string(n + 1) + " values for " + std::to_string(n) + " ranks"),
                e.story);
}

asio::awaitable<void> messages(world w) {
  auto const g = w.group();
  int const n = g.size();
  int const me = g.rank().value();
  int const before = (me + n - 1) % n;
  g.send_object(prompt_of(me), group_rank((me + 1) % n));
  auto const got = co_await g.recv_object<prompt>(group_rank(before));
  check_prompt(got, before);
  std::map<std::string, int> table;
  table["rank"] = me;
  g.send_object(table, group_rank((me + 1) % n), op_options().tag(3));
  auto const any =
      co_await g.recv_object<std::map<std::string, int>>(any_source, op_options().tag(3));
  CHECK(any.at("rank") == before);
}

// Objects and tensors do not mix, nor do objects of types that cannot be read from each other.
asio::awaitable<void> wrong_kinds(world w) {
  auto const g = w.group();
  if (w.rank().value() == 0) {
    auto const a = co_await ended(g.send_object(std::string("hello"), group_rank(1)));
    CHECK(a.code == errc::mismatch);
    auto const b = co_await ended(g.send(tensor::zeros(dtype::u8, {3}), group_rank(1)));
    CHECK(b.code == errc::mismatch);
    auto const c = co_await ended(g.send_object(std::string("hello"), group_rank(1)));
    CHECK(c.code == errc::mismatch);
  } else {
    auto const a = co_await ended(g.recv(group_rank(0)));
    CHECK(a.code == errc::mismatch);
    CHECK_MESSAGE(a.tells("one is an object, the other a tensor"), a.story);
    auto const b = co_await ended(g.recv_object<std::string>(group_rank(0)));
    CHECK(b.code == errc::mismatch);
    auto const c = co_await ended(g.recv_object<std::vector<int>>(group_rank(0)));
    CHECK(c.code == errc::mismatch);
  }
}

asio::awaitable<void> without_parallelism() {
  process_group const g;
  auto const one = co_await g.broadcast_object<int>(7, group_rank(0));
  CHECK(one == 7);
  auto const all = co_await g.gather_objects(8, group_rank(0));
  CHECK(all == std::vector<int>{8});
  auto const mine = co_await g.scatter_objects(all, group_rank(0));
  CHECK(mine == 8);
  auto const e = co_await ended(g.send_object(1, group_rank(0)));
  CHECK(e.code == errc::invalid_argument);
}

}  // namespace

TEST_CASE("an object with tensors reaches all ranks, beside a tensor's gather, for every waiter") {
  for (int n : {1, 2, 3, 5}) run_ranks_everywhere(n, broadcasts);
}
TEST_CASE("objects of unequal sizes are gathered and scattered in group order") {
  for (int n : {1, 2, 3, 5}) run_ranks_everywhere(n, gathers_and_scatters);
}
TEST_CASE("objects travel between two ranks, by tag and from any") {
  for (int n : {1, 2, 3}) run_ranks_everywhere(n, messages);
}
TEST_CASE("an object and a tensor do not match, nor do two objects of different types") {
  run_ranks_everywhere(2, wrong_kinds);
}
TEST_CASE("a disabled group gives objects back") {
  run_ranks(1, [](world) { return without_parallelism(); });
}
