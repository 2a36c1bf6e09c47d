// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "trial.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine_under_test.hpp"

namespace hocket::conformance {

seat::seat(world const& w, std::string how, process_group g)
    : group(std::move(g)),
      engine(engine_of(w)),
      grouping(std::move(how)),
      ranks(w.size()),
      world_rank_(w.rank().value()) {}

boost::asio::awaitable<std::vector<seat>> seats_of(world w) {
  int const n = w.size();
  std::vector<std::pair<std::string, std::vector<int>>> lists(3);
  lists[0].first = "reversed";
  lists[1].first = "without rank 0";
  lists[2].first = "every second";
  for (int r = n; r-- > 0;) {
    lists[0].second.push_back(r);
    if (r > 0) lists[1].second.insert(lists[1].second.begin(), r);
    if ((n - 1 - r) % 2 == 0) lists[2].second.push_back(r);
  }
  std::vector<seat> all;
  all.emplace_back(w, "all", w.group());
  for (auto const& [name, members] : lists) {
    if (n == 1 || std::find(members.begin(), members.end(), w.rank().value()) == members.end())
      continue;
    auto const options = group_options().name(name).deadline(hang);
    auto g = co_await make_group(w, rank_group::from(members), options);
    all.emplace_back(w, name, std::move(g));
  }
  co_return all;
}

trial::trial(seat p, std::string op)
    : at(std::move(p)), operation(std::move(op)), replay(conformance::seed()) {}

group_rank trial::root() const {
  return group_rank(static_cast<int>(seed % static_cast<std::uint64_t>(n())));
}

array trial::data(int rank, extents const& e) const {
  return is_reduction ? numbers(dtype, how, e, seed, rank) : patterned(dtype, e, seed, rank);
}

extents trial::whole() const {
  extents e = part;
  if (e.empty()) e.push_back(1);
  e[0] *= n();
  return e;
}

trial_name trial::name() const {
  trial_name t;
  t.operation = fmt::format("{} {}{} {}, {} -> {}", operation, hocket::name_of(dtype),
                            is_reduction ? fmt::format(" {}", hocket::name_of(how)) : "",
                            to_string(shape_of(part)), name_of(in), name_of(out));
  t.engine = at.engine;
  t.group = at.grouping + " " + at.group.label();
  t.ranks = at.ranks;
  t.rank = at.world_rank_;
  t.seed = replay;
  return t;
}

void trial::expect(array const& got, array const& expected) const {
  auto const d = difference_of(got, expected);
  CHECK_MESSAGE(!d, (d ? report(name(), expected, *d) : std::string()));
}

void trial::expect(buffer& b, array const& expected) const {
  expect(b.content(), expected);
  if (!b.is_clean_around()) fail("memory between the elements as it was", "it was written");
}

void trial::fail(std::string const& expected, std::string const& got) const {
  FAIL_CHECK(report(name(), expected, got));
}

}  // namespace hocket::conformance
