// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Inputs that share elements with outputs, in every collective that has both.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "every_call.hpp"
#include "virtual_world.hpp"

using namespace hocket;
using namespace hocket::test;

namespace {

constexpr int ranks = 3;
constexpr group_rank root(1);

using start = std::function<work<>(process_group const&, tensor const& out, tensor const& in)>;

class call {
 public:
  call(std::string n, std::int64_t in, std::int64_t out, start s)
      : name(std::move(n)), in_rows(in), out_rows(out), begin(std::move(s)) {}
  std::string name;
  std::int64_t in_rows, out_rows;
  start begin;
};

std::vector<call> calls() {
  std::vector<call> all;
  all.emplace_back("all_gather", 2, 6, [](auto const& g, auto const& out, auto const& in) {
    return g.all_gather(out, in);
  });
  all.emplace_back("gather", 2, 6, [](auto const& g, auto const& out, auto const& in) {
    return g.gather(out, in, root);
  });
  all.emplace_back("scatter", 6, 2, [](auto const& g, auto const& out, auto const& in) {
    return g.scatter(out, in, root);
  });
  all.emplace_back("all_to_all", 6, 6, [](auto const& g, auto const& out, auto const& in) {
    return g.all_to_all(out, in);
  });
  all.emplace_back("all_reduce", 6, 6, [](auto const& g, auto const& out, auto const& in) {
    return g.all_reduce(out, in);
  });
  all.emplace_back("reduce", 6, 6, [](auto const& g, auto const& out, auto const& in) {
    return g.reduce(out, in, reduction::sum, root);
  });
  all.emplace_back("reduce_scatter", 6, 2, [](auto const& g, auto const& out, auto const& in) {
    return g.reduce_scatter(out, in);
  });
  auto const plan = make_split_plan(layout::balanced, 6, ranks, 0);
  all.emplace_back("all_to_all_v", 6, 6, [plan](auto const& g, auto const& out, auto const& in) {
    return g.all_to_all_v(out, plan, in, plan);
  });
  return all;
}

}  // namespace

TEST_CASE("an input that lies across its output is refused on its rank before anything moves") {
  for (auto const& c : calls()) {
    CAPTURE(c.name);
    virtual_world v(ranks);
    auto const memory = patterned(dtype::i32, {20, 3}, 1);
    auto const before = memory.clone();
    std::vector<work<>> done;
    for (int r = 0; r < ranks; ++r) {
      bool const bad = r == root.value();
      auto const in =
          bad ? memory.slice(0, 1, c.in_rows) : tensor::zeros(dtype::i32, {c.in_rows, 3});
      auto const out =
          bad ? memory.slice(0, 2, c.out_rows) : tensor::zeros(dtype::i32, {c.out_rows, 3});
      done.push_back(c.begin(v.group(r), out, in));
    }
    for (int r = 0; r < ranks; ++r) {
      auto const e = now(done[static_cast<std::size_t>(r)]);
      CHECK(e.code == (r == root.value() ? errc::invalid_argument : errc::peer_failed));
      auto const text = [](std::int64_t rows) { return "i32[" + std::to_string(rows) + ",3]"; };
      auto const smaller = text(std::min(c.in_rows, c.out_rows));
      auto const larger = text(std::max(c.in_rows, c.out_rows));
      CHECK_MESSAGE(
          e.tells(smaller == larger ? "input " + smaller + " overlaps output " + larger
                                    : "part " + smaller + " overlaps the whole " + larger),
          e.story);
    }
    CHECK(equal(memory, before));
    std::vector<work<>> met;
    for (int r = 0; r < ranks; ++r) met.push_back(v.group(r).barrier());
    for (auto const& m : met) CHECK_FALSE(now(m).code);
  }
}

TEST_CASE("an input that ends where its output begins is no overlap") {
  for (auto const& c : calls()) {
    CAPTURE(c.name);
    virtual_world v(ranks);
    std::vector<tensor> memory;
    std::vector<work<>> done;
    for (int r = 0; r < ranks; ++r) {
      memory.push_back(tensor::full(dtype::i32, {c.in_rows + c.out_rows, 3}, 1));
      auto const& m = memory.back();
      done.push_back(
          c.begin(v.group(r), m.slice(0, c.in_rows, c.out_rows), m.slice(0, 0, c.in_rows)));
    }
    for (auto const& d : done) CHECK_MESSAGE(!now(d).code, now(d).story);
  }
}
