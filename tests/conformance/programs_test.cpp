// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Random programs, compared with what one process works out. A failing one prints its seed;
// HOCKET_SEED=n runs it alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <exception>
#include <hocket/async/task_group.hpp>
#include <long_mode.hpp>
#include <string>
#include <vector>

#include "engine_under_test.hpp"
#include "operations.hpp"
#include "outcome.hpp"
#include "program.hpp"

using namespace hocket;
using namespace hocket::conformance;
namespace asio = boost::asio;

namespace {

// One step as one member sees it.
class turn {
 public:
  turn(seat s, step w, std::uint64_t p) : at(std::move(s)), what(w), program_seed(p) {}
  seat at;
  step what;
  std::uint64_t program_seed;
  [[nodiscard]] process_group const& group() const { return at.group; }
  // Drawn alike on all members.
  [[nodiscard]] std::uint64_t drawn(std::uint64_t i) const { return mixed(what.number, 77, i); }
  // The one member that does something else.
  [[nodiscard]] bool is_chosen() const {
    return at.me() == static_cast<int>(drawn(0) % static_cast<std::uint64_t>(at.n()));
  }
  [[nodiscard]] trial tried_as(std::string name) const {
    trial t(at, std::move(name));
    t.seed = what.number;
    t.replay = program_seed;
    return t;
  }
};

extents drawn_shape(turn const& t) {
  static std::vector<extents> const shapes{{},     {0},    {1},       {5},    {3, 4},
                                           {2, 0}, {2053}, {1, 2, 3}, {9, 1}, {70, 31}};
  return shapes[t.drawn(1) % shapes.size()];
}

asio::awaitable<void> operation(turn t) {
  auto const moving = movements();
  auto const reducing = reductions();
  auto const which = t.drawn(2) % (moving.size() + reducing.size());
  auto const& op = which < moving.size() ? moving[which] : reducing[which - moving.size()];
  auto made = t.tried_as(op.name);
  made.is_reduction = which >= moving.size();
  made.part = drawn_shape(t);
  made.dtype = static_cast<dtype>(t.drawn(3) % dtype_count);
  made.how = static_cast<reduction>(t.drawn(4) % reduction_count);
  // Layouts are each member's own.
  auto const own = t.drawn(5) + static_cast<std::uint64_t>(t.at.me());
  made.in = static_cast<form>(own % form_count);
  made.out = static_cast<form>(own / form_count % form_count);
  auto running = op.run(std::move(made));
  co_await std::move(running);
}

asio::awaitable<void> mail(turn t) {
  auto const all = letters_of(t.what, t.at.n());
  int const me = t.at.me();
  std::vector<work<>> sent;
  for (auto const& l : all)
    if (l.from == me)
      sent.push_back(t.group().send(tensor_of(patterned(dtype::u8, extents(1, l.bytes), l.data, 0)),
                                    group_rank(l.to), op_options().tag(l.tag)));
  auto const made = t.tried_as("mail");
  for (auto const& l : taken_by(me, all, t.what.number + static_cast<std::uint64_t>(me))) {
    auto const got = co_await t.group().recv(group_rank(l.from), op_options().tag(l.tag));
    made.expect(buffer::read(got), patterned(dtype::u8, extents(1, l.bytes), l.data, 0));
  }
  for (auto& s : sent) co_await std::move(s);
}

std::string text_of(turn const& t, int member) {
  auto const size = t.drawn(static_cast<std::uint64_t>(member) + 9) % 6000;
  return std::string(size, static_cast<char>('a' + member));
}

asio::awaitable<void> object(turn t) {
  auto const root = group_rank(static_cast<int>(t.drawn(6) % static_cast<std::uint64_t>(t.at.n())));
  auto const all = co_await t.group().gather_objects(text_of(t, t.at.me()), root);
  auto const made = t.tried_as("gather_objects");
  for (int r = 0; r < static_cast<int>(all.size()); ++r)
    if (all[static_cast<std::size_t>(r)] != text_of(t, r))
      made.fail("member " + std::to_string(r) + "'s text", "another");
}

asio::awaitable<void> cancelled(turn t) {
  auto made = t.tried_as("all_gather, cancelled by one");
  made.dtype = dtype::i32;
  made.part = extents(1, 33);
  buffer in(form::contiguous, made.data(made.me()));
  buffer out(form::contiguous, made.dtype, made.whole());
  auto const done = t.group().all_gather(out.view(), in.view());
  if (t.is_chosen()) done.get_canceller().cancel();
  auto const o = co_await outcome_of(work<>(done));
  if (o.code && !(t.is_chosen() && o.code == operation_aborted())) made.fail("success", o.story);
  co_await done.released();
  std::vector<array> parts;
  for (int r = 0; r < made.n(); ++r) parts.push_back(made.data(r));
  made.expect(out, joined(parts));
}

asio::awaitable<void> withdrawn(turn t) {
  if (!t.is_chosen()) co_return;
  auto const got = t.group().recv(any_source, op_options().tag(1000));  // which nobody sends
  got.get_canceller().cancel();
  auto const o = co_await outcome_of(work<tensor>(got));
  if (o.code != operation_aborted()) t.tried_as("recv, withdrawn").fail("aborted", o.story);
  co_await got.released();
}

asio::awaitable<void> disagreement(turn t) {
  if (t.at.n() == 1) co_return;
  auto const x = tensor::zeros(t.is_chosen() ? dtype::f32 : dtype::i64, {3});
  auto const o = co_await outcome_of(t.group().broadcast(x, group_rank(0)));
  if (o.code != errc::mismatch || !o.tells("broadcast f32[3]") || !o.tells("broadcast i64[3]"))
    t.tried_as("broadcast of which one gives another dtype").fail("a mismatch of both", o.story);
}

asio::awaitable<void> perform(turn t) {
  switch (t.what.what) {
    case action::operation:
      return operation(std::move(t));
    case action::mail:
      return mail(std::move(t));
    case action::object:
      return object(std::move(t));
    case action::cancelled:
      return cancelled(std::move(t));
    case action::withdrawn:
      return withdrawn(std::move(t));
    case action::disagreement:
      break;
  }
  return disagreement(std::move(t));
}

asio::awaitable<void> run_channel(world w, process_group g, channel_program const& c,
                                  std::uint64_t program_seed) {
  for (auto const& s : c.steps) {
    auto const pace = mixed(s.number, static_cast<std::uint64_t>(w.rank().value()), 3);
    auto dawdling = sleep_for(std::chrono::microseconds(pace % 50));
    if (pace % 5 == 0) co_await std::move(dawdling);
    auto performing = perform(turn(seat(w, "some", g), s, program_seed));
    co_await std::move(performing);
  }
  co_await g.barrier();  // or those that are done would end what others still try
  g.close_channel();
}

asio::awaitable<void> rank_main(world w, program const& p) {
  task_group channels(co_await asio::this_coro::executor);
  for (std::size_t i = 0; i < p.groups.size(); ++i) {
    auto const& made = p.groups[i];
    auto const end = made.members.end();
    if (std::find(made.members.begin(), end, w.rank().value()) == end) continue;
    auto const options = group_options().name("g" + std::to_string(i)).deadline(hang);
    auto g = co_await make_group(w, rank_group::from(made.members), options);
    for (std::size_t c = 0; c < made.channels.size(); ++c)
      channels.spawn(run_channel(w, g.channel(c + 1), made.channels[c], p.seed));
  }
  co_await channels.join();
  // Nobody leaves while others still need it.
  co_await w.group().barrier();
}

void check(std::uint64_t seed) {
  auto const p = make_program(seed);
  std::string failure;
  try {
    auto const ranks = [&p](world w) { return rank_main(std::move(w), p); };
    if (seed % 4 == 0) {
      run_on_threads(p.ranks, ranks);
    } else {
      run(p.ranks, ranks);
    }
  } catch (std::exception const& e) {
    failure = e.what();
  }
  CHECK_MESSAGE(failure.empty(), "random program of ", p.ranks, " ranks, again: HOCKET_SEED=", seed,
                "\n", failure);
}

}  // namespace

TEST_CASE("random programs give what one process works out") {
  if (!setting("HOCKET_SEED").empty()) return check(seed());
  std::uint64_t const count = hocket::test::is_long_mode() ? 10'000 : 200;
  for (std::uint64_t s = 1; s <= count; ++s) check(s);
}

TEST_CASE("equal seeds make equal programs, and all actions and numbers of ranks occur") {
  std::vector<int> seen(action_count);
  std::vector<int> ranks(9);
  for (std::uint64_t s = 1; s <= 200; ++s) {
    auto const p = make_program(s);
    auto const again = make_program(s);
    REQUIRE(p.groups.size() == again.groups.size());
    ++ranks[static_cast<std::size_t>(p.ranks)];
    for (std::size_t g = 0; g < p.groups.size(); ++g) {
      CHECK(p.groups[g].members == again.groups[g].members);
      for (auto const& c : p.groups[g].channels)
        for (auto const& st : c.steps) ++seen[static_cast<std::size_t>(st.what)];
    }
  }
  CHECK(std::all_of(seen.begin(), seen.end(), [](int n) { return n > 20; }));
  for (int n : rank_counts) CHECK(ranks[static_cast<std::size_t>(n)] > 10);
}

TEST_CASE("the model of mail keeps the order of one sender and tag") {
  step s;
  s.number = 12;
  auto const all = letters_of(s, 4);
  std::size_t count = 0;
  for (int m = 0; m < 4; ++m) {
    auto const taken = taken_by(m, all, 3);
    count += taken.size();
    for (std::size_t i = 0; i < taken.size(); ++i)
      for (std::size_t k = i + 1; k < taken.size(); ++k)
        if (taken[i].from == taken[k].from && taken[i].tag == taken[k].tag)
          CHECK(taken[i].data > taken[k].data);  // their seeds count down
  }
  CHECK(count == all.size());
}
