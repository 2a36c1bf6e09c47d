// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// World ranks and places in a group that keeps an order of its own: [5,2,3] of a world of six.
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "every_call.hpp"
#include "virtual_world.hpp"

using namespace hocket;
using namespace hocket::test;

namespace {

constexpr std::array members{5, 2, 3};
constexpr std::size_t n = 3;

class unsorted {
 public:
  unsorted() : v(6) {
    std::vector<work<process_group>> made;
    for (int const r : members) made.push_back(make_group(v.ranks()[r], rank_group::of(5, 2, 3)));
    for (auto const& m : made) g.push_back(m.state()->take());
  }
  virtual_world v;
  std::vector<process_group> g;  // by place
};

// Each member's handle on one call.
template <class T = void>
using handles = std::vector<work<T>>;

tensor numbers(std::initializer_list<int> values) {
  auto t = tensor::empty(dtype::i32, {values.size()});
  std::copy(values.begin(), values.end(), t.data<std::int32_t>());
  return t;
}

// Place 1 is world rank 2, and 2 is the place of world rank 3: a mix-up is seen.
void check_rooted(unsorted const& u, member root, int at) {
  auto const place = static_cast<std::size_t>(at);
  int const who = members[place];
  std::vector<tensor> t, out;
  handles<> done;
  handles<std::optional<tensor>> whole, part;
  handles<int> object, scattered;
  handles<std::vector<int>> gathered;
  for (std::size_t i = 0; i < n; ++i) {
    int const me = members[i];
    auto const& g = u.g[i];
    t.push_back(numbers({me, 10 * me}));
    done.push_back(g.broadcast(t.back(), root));
    whole.push_back(g.broadcast(std::optional<tensor>(numbers({me})), root));
    out.push_back(tensor::zeros(dtype::i32, {3}));
    done.push_back(g.gather(out.back(), numbers({me}), root));
    out.push_back(tensor::zeros(dtype::i32, {1}));
    done.push_back(g.scatter(out.back(), numbers({me, 10 * me, 100 * me}), root));
    out.push_back(tensor::zeros(dtype::i32, {1}));
    done.push_back(g.reduce(out.back(), numbers({me}), reduction::sum, root));
    part.push_back(g.scatter(std::optional<tensor>(numbers({me, 10 * me, 100 * me})), 0,
                             layout::strict, root));
    object.push_back(g.broadcast_object<int>(me, root));
    gathered.push_back(g.gather_objects<int>(me, root));
    scattered.push_back(g.scatter_objects<int>(std::vector<int>{me, 10 * me, 100 * me}, root));
  }
  std::array const powers{1, 10, 100};
  for (auto const& d : done) CHECK_FALSE(now(d).code);
  for (std::size_t i = 0; i < n; ++i) {
    CAPTURE(i);
    int const mine = powers[i] * who;
    CHECK(equal(t[i], numbers({who, 10 * who})));
    CHECK(equal(*whole[i].state()->take(), numbers({who})));
    CHECK(equal(out[3 * i], i == place ? numbers({5, 2, 3}) : numbers({0, 0, 0})));
    CHECK(equal(out[3 * i + 1], numbers({mine})));
    CHECK(equal(out[3 * i + 2], numbers({i == place ? 10 : 0})));
    CHECK(equal(*part[i].state()->take(), numbers({mine})));
    CHECK(object[i].state()->take() == who);
    CHECK(gathered[i].state()->take() ==
          (i == place ? std::vector<int>{5, 2, 3} : std::vector<int>()));
    CHECK(scattered[i].state()->take() == mine);
  }
}

}  // namespace

TEST_CASE("a root named by place or by world rank is that member, for tensors and objects alike") {
  unsorted u;
  for (int place = 0; place < 3; ++place) {
    CAPTURE(place);
    check_rooted(u, group_rank(place), place);
    check_rooted(u, world_rank(members[static_cast<std::size_t>(place)]), place);
  }
}

TEST_CASE("every call refuses a root or peer that is no member, by the name it was given") {
  unsorted u;
  for (auto const& c : all_calls()) {
    if (!c.is_rooted) continue;
    CAPTURE(c.form);
    // 0 and 1 are places of members, but world ranks of strangers; 5 is a member, but no place.
    for (member const stranger : {member(world_rank(0)), member(world_rank(1)),
                                  member(group_rank(5)), member(group_rank(-1))}) {
      std::vector<detail::op_ref> begun;
      for (auto const& g : u.g) begun.push_back(c.start(g, call_args(1, stranger, {})));
      for (auto const& op : begun) {
        auto const e = over(op);
        CHECK(e.code == errc::not_a_member);
        CHECK_MESSAGE(e.tells((stranger.is_world() ? "world rank " : "group rank ") +
                              std::to_string(stranger.value()) + " is not in group"),
                      e.story);
        CHECK_MESSAGE(e.tells("[5,2,3]"), e.story);
      }
    }
  }
}

TEST_CASE("parts lie in the order of the group's list in every collective") {
  unsorted u;
  std::vector<tensor> all, exchanged, piece;
  handles<> done;
  for (std::size_t i = 0; i < n; ++i) {
    int const me = members[i];
    auto const& g = u.g[i];
    all.push_back(tensor::zeros(dtype::i32, {3}));
    done.push_back(g.all_gather(all.back(), numbers({me})));
    exchanged.push_back(tensor::zeros(dtype::i32, {3}));
    done.push_back(g.all_to_all(exchanged.back(), numbers({me, 10 * me, 100 * me})));
    piece.push_back(tensor::zeros(dtype::i32, {1}));
    done.push_back(g.reduce_scatter(piece.back(), numbers({me, 10 * me, 100 * me})));
  }
  std::array const powers{1, 10, 100};
  for (auto const& d : done) CHECK_FALSE(now(d).code);
  for (std::size_t i = 0; i < n; ++i) {
    int const p = powers[i];
    CHECK(u.g[i].rank() == group_rank(static_cast<int>(i)));
    CHECK(u.g[i].place_of(world_rank(members[i])) == group_rank(static_cast<int>(i)));
    CHECK(equal(all[i], numbers({5, 2, 3})));
    CHECK(equal(exchanged[i], numbers({5 * p, 2 * p, 3 * p})));
    CHECK(equal(piece[i], numbers({10 * p})));
  }
}

TEST_CASE("a rank outside a group is told so at once and disturbs nobody") {
  unsorted u;
  auto const met = u.g[0].barrier();
  auto const outside = make_group(u.v.ranks()[4], rank_group::of(5, 2, 3));
  auto const e = now(outside);
  CHECK(e.code == errc::not_a_member);
  CHECK_MESSAGE(e.tells("world rank 4 is not in [5,2,3]"), e.story);
  CHECK_FALSE(rank_group::of(5, 2, 3).group_rank_of(world_rank(4)).has_value());
  CHECK_FALSE(met.ready());
  u.g[1].barrier();
  u.g[2].barrier();
  CHECK_FALSE(now(met).code);
}

TEST_CASE("a late member is named by its world rank too") {
  unsorted u;
  auto const limit = op_options().deadline(std::chrono::seconds(1));
  auto const first = u.g[0].barrier(limit);
  u.v.pass(std::chrono::seconds(1));
  CHECK_MESSAGE(now(first).tells("[5,2,3] #0 barrier"), now(first).story);
  CHECK_MESSAGE(now(first).tells("not called by rank 1 (world rank 2), rank 2 (world rank 3)"),
                now(first).story);
}
