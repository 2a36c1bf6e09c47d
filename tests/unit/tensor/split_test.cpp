// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <algorithm>
#include <hocket/tensor/copy.hpp>
#include <hocket/tensor/split_plan.hpp>
#include <unordered_set>
#include <vector>

#include "expect_error.hpp"
#include "random_view.hpp"

using namespace hocket;

namespace {

std::vector<std::int64_t> sizes_of(split_plan const& plan) {
  std::vector<std::int64_t> sizes;
  for (int part = 0; part < plan.parts(); ++part) sizes.push_back(plan.part_size(part));
  return sizes;
}

std::vector<std::int32_t> values_of(tensor const& t) {
  auto const all = t.contiguous();
  auto const span = all.as_span<std::int32_t>();
  return {span.begin(), span.end()};
}

std::vector<tensor> split_all(tensor const& t, split_plan const& plan) {
  std::vector<tensor> shards;
  for (int part = 0; part < plan.parts(); ++part) shards.push_back(split(t, plan, part));
  return shards;
}

using numbers = std::vector<std::int32_t>;
using extents = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("57826 tokens over 8 parts: an error, or 7229 and 7228, or 57832 with 6 of padding") {
  expect_error(errc::invalid_argument,
               "strict split of length 57826 over 8 parts along dimension 0: 57826 % 8 = 2",
               [] { (void)make_split_plan(layout::strict, 57826, 8, 0); });
  auto const balanced = make_split_plan(layout::balanced, 57826, 8, 0);
  CHECK(sizes_of(balanced) == extents{7229, 7229, 7228, 7228, 7228, 7228, 7228, 7228});
  auto const padded = make_split_plan(layout::padded, 57826, 8, 0);
  CHECK(sizes_of(padded) == extents(8, 7229));
  CHECK(padded.valid_size(7) == 7223);
  auto const x = tensor::arange(dtype::i32, {57826, 1});
  CHECK(equal(gather(split_all(x, balanced), balanced), x));
  CHECK(equal(gather(split_all(x, padded), padded), x));
}

TEST_CASE("the first L % n parts of a balanced split are one longer") {
  CHECK(sizes_of(make_split_plan(layout::balanced, 8423, 8, 2)) ==
        extents{1053, 1053, 1053, 1053, 1053, 1053, 1053, 1052});
  CHECK(sizes_of(make_split_plan(layout::balanced, 3, 4, 0)) == extents{1, 1, 1, 0});
  CHECK(sizes_of(make_split_plan(layout::balanced, 0, 3, 0)) == extents{0, 0, 0});
}

TEST_CASE("padding is zero, at the end, and trimmed by gather") {
  auto const x = tensor::arange(dtype::i32, {7});
  auto const plan = make_split_plan(layout::padded, x.shape(), 2, 0);
  auto const shards = split_all(x, plan);
  CHECK(values_of(shards[0]) == numbers{0, 1, 2, 3});
  CHECK(values_of(shards[1]) == numbers{4, 5, 6, 0});
  CHECK(plan.valid_size(0) == 4);
  CHECK(plan.valid_size(1) == 3);
  CHECK(values_of(gather(shards, plan)) == numbers{0, 1, 2, 3, 4, 5, 6});

  auto const two = tensor::arange(dtype::i32, {2, 5});  // two ranges, each padded on its own
  auto const ranges = make_split_plan(layout::padded, two.shape(), 4, 1);
  CHECK(sizes_of(ranges) == extents{2, 2, 2, 2});
  auto const parts = split_all(two, ranges);
  CHECK(values_of(parts[2]) == numbers{4, 0, 9, 0});
  CHECK(values_of(parts[3]) == numbers{0, 0, 0, 0});
  CHECK(ranges.valid_size(3) == 0);
  CHECK(equal(gather(parts, ranges), two));
}

TEST_CASE("part r of a zigzag split holds chunks r and 2n-1-r") {
  auto const x = tensor::arange(dtype::i32, {12});
  auto const plan = make_split_plan(layout::zigzag, x.shape(), 3, -1);
  auto const shards = split_all(x, plan);
  CHECK(values_of(shards[0]) == numbers{0, 1, 10, 11});
  CHECK(values_of(shards[1]) == numbers{2, 3, 8, 9});
  CHECK(values_of(shards[2]) == numbers{4, 5, 6, 7});
  CHECK(plan.pieces(0).size() == 2);
  CHECK(plan.pieces(2).size() == 1);
  CHECK(equal(gather(shards, plan), x));
  expect_error(errc::invalid_argument,
               "zigzag split of length 15 over 3 parts along dimension 0: 15 % (2 * 3) = 3",
               [] { (void)make_split_plan(layout::zigzag, 15, 3, 0); });
}

TEST_CASE("sizes given by the caller are kept, zeros too") {
  extents const sizes{3, 0, 2};
  auto const plan = make_split_plan(sizes, 1);
  auto const x = tensor::arange(dtype::i32, {2, 5});
  CHECK(plan.length() == 5);
  CHECK(sizes_of(plan) == sizes);
  CHECK_FALSE(plan.is_even());
  auto const shards = split_all(x, plan);
  CHECK(values_of(shards[2]) == numbers{3, 4, 8, 9});
  CHECK(shards[1].shape() == shape(2, 0));
  CHECK(equal(gather(shards, plan), x));
}

TEST_CASE("a slice along the sequence is the same for a dimension named from the back") {
  auto const x = tensor::arange(dtype::i32, {2, 3, 4});
  auto const plan = make_split_plan(layout::strict, x.shape(), 3, 1);
  auto const from_back = make_split_plan(layout::strict, x.shape(), 3, -2);
  CHECK(plan == from_back);
  CHECK(plan.hash() == from_back.hash());
  for (int r = 0; r < 3; ++r) {
    auto const s = split(x, plan, r);
    CHECK(values_of(s) == numbers{4 * r, 4 * r + 1, 4 * r + 2, 4 * r + 3, 12 + 4 * r, 13 + 4 * r,
                                  14 + 4 * r, 15 + 4 * r});
    CHECK(s.is_contiguous());
    CHECK_FALSE(s.shares_storage(x));
    CHECK(split_view(x, plan, r).shares_storage(x));
    CHECK(equal(split_view(x, plan, r), s));
  }
}

TEST_CASE("shards that do not fit the plan are errors that name both") {
  auto const x = tensor::arange(dtype::f32, {2, 6, 4});
  auto const plan = make_split_plan(layout::strict, x.shape(), 3, 1);
  expect_error(errc::invalid_argument,
               "shape [2,5,4] does not fit the plan: strict 6 over 3 along dimension 1", [&] {
                 (void)split(tensor::zeros(dtype::f32, {2, 5, 4}), plan, 0);
               });
  expect_error(errc::invalid_argument,
               "part 3 is not in [0, 3) of strict 6 over 3 along dimension 1",
               [&] { (void)split(x, plan, 3); });
  auto shards = split_all(x, plan);
  auto const along_2 = make_split_plan(layout::strict, shape(2, 2, 12), 3, 2);
  expect_error(errc::invalid_argument,
               "part 0 is f32[2,2,4], expected f32[2,2,5] of f32[2,2,15] (strict 15 over 3 along "
               "dimension 2)",
               [&] { (void)gather(shards, make_split_plan(layout::strict, 15, 3, 2)); });
  CHECK(gather(shards, along_2).shape() == shape(2, 2, 12));  // 3 * 4 fits: only the plan knows
  shards[1] = shards[1].slice(0, 0, 1);
  expect_error(errc::invalid_argument,
               "part 1 is f32[1,2,4], expected f32[2,2,4] of f32[2,6,4] (strict 6 over 3 along "
               "dimension 1)",
               [&] { (void)gather(shards, plan); });
  shards[1] = tensor::zeros(dtype::i32, {2, 2, 4});
  expect_error(errc::invalid_argument,
               "part 1 is i32[2,2,4], expected f32[2,2,4] of f32[2,6,4] (strict 6 over 3 along "
               "dimension 1)",
               [&] { (void)gather(shards, plan); });
  shards.pop_back();
  expect_error(errc::invalid_argument, "2 parts for the plan: strict 6 over 3 along dimension 1",
               [&] { (void)gather(shards, plan); });
  expect_error(errc::invalid_argument,
               "shape [2] of a part does not fit the plan: strict 6 over 3 along dimension 1",
               [&] { (void)plan.full_shape({2}); });
}

TEST_CASE("plans that cannot be are errors with the numbers") {
  auto const invalid = errc::invalid_argument;
  expect_error(invalid,
               "balanced split of length 5 over 0 parts along dimension 0: at least one part is "
               "needed",
               [] { (void)make_split_plan(layout::balanced, 5, 0, 0); });
  expect_error(invalid,
               "padded split of length -5 over 2 parts along dimension 0: the length is negative",
               [] { (void)make_split_plan(layout::padded, -5, 2, 0); });
  expect_error(invalid,
               "strict split of length 4 over 2 parts along dimension -1: the dimension is not in "
               "[0, 8)",
               [] { (void)make_split_plan(layout::strict, 4, 2, -1); });
  expect_error(invalid, "dimension 3 is not in [-3, 3) of shape [2,3,4]",
               [] { (void)make_split_plan(layout::strict, shape(2, 3, 4), 2, 3); });
  expect_error(invalid,
               "uneven split of length 4 over 2 parts along dimension 0: it is made from the size "
               "of each part",
               [] { (void)make_split_plan(layout::uneven, 4, 2, 0); });
  expect_error(invalid,
               "uneven split into 2 parts along dimension 0: size -1 of part 1 is negative", [] {
                 (void)make_split_plan(extents{4, -1}, 0);
               });
  expect_error(invalid, "uneven split into 0 parts along dimension 0: at least one part is needed",
               [] { (void)make_split_plan(extents{}, 0); });
}

TEST_CASE("hashes are those of every other machine, and differ where plans differ") {
  CHECK(make_split_plan(layout::strict, 12, 3, 1).hash() == 0x7ec31377fd434aabU);
  CHECK(make_split_plan(extents{3, 0, 2}, 1).hash() == 0x3b9ce58dda91ef23U);
  std::unordered_set<std::uint64_t> seen;
  int plans = 0;
  for (auto const how : {layout::strict, layout::balanced, layout::padded, layout::zigzag})
    for (std::int64_t dim = 0; dim < 3; ++dim)
      for (int parts = 1; parts < 9; ++parts)
        for (std::int64_t length : {0, 1680, 3360}) {
          seen.insert(make_split_plan(how, length, parts, dim).hash());
          ++plans;
        }
  CHECK(static_cast<int>(seen.size()) == plans);
}

TEST_CASE("the pieces of all parts cover the whole once, and each part from its start") {
  random_source random("pieces");
  for (int round = 0; round < 2000; ++round) {
    auto const how = static_cast<layout>(random.below(4));
    int const parts = 1 + static_cast<int>(random.below(9));
    auto length = random.below(40);
    if (how == layout::strict) length *= parts;
    if (how == layout::zigzag) length *= 2 * parts;
    auto const plan = make_split_plan(how, length, parts, 0);
    std::vector<int> covered(static_cast<std::size_t>(length), 0);
    for (int part = 0; part < parts; ++part) {
      std::int64_t at = 0;
      for (auto const& p : plan.pieces(part)) {
        REQUIRE(p.part_start == at);
        REQUIRE(p.length > 0);
        at += p.length;
        for (auto i = p.full_start; i < p.full_start + p.length; ++i)
          ++covered.at(static_cast<std::size_t>(i));
      }
      REQUIRE(at == plan.valid_size(part));
      REQUIRE(at <= plan.part_size(part));
      if (plan.is_even()) REQUIRE(plan.part_size(part) == plan.part_size(0));
    }
    REQUIRE(std::all_of(covered.begin(), covered.end(), [](int n) { return n == 1; }));
  }
}

TEST_CASE("gather of a split is the tensor itself, bit for bit") {
  random_source random("splits");
  for (int round = 0; round < 1500; ++round) {
    auto const how = static_cast<layout>(random.below(5));
    int const parts = 1 + static_cast<int>(random.below(8));
    auto full = random.shape(4, 6);
    full.append(random.below(5));  // at least one dimension
    auto const dim = random.below(static_cast<std::int64_t>(full.size()));
    auto const d = static_cast<std::size_t>(dim);
    if (how == layout::strict) full.set(d, full[d] % 4 * parts);
    if (how == layout::zigzag) full.set(d, full[d] % 3 * 2 * parts);
    auto const plan = [&] {
      if (how != layout::uneven) return make_split_plan(how, full, parts, dim);
      extents sizes;
      for (int i = 0; i < parts; ++i) sizes.push_back(random.below(4));
      auto const p = make_split_plan(sizes, dim);
      full.set(d, p.length());
      return p;
    }();
    auto const x = random.view(random.dtype(), full);
    CAPTURE(brief(x));
    CAPTURE(to_string(plan));
    std::vector<tensor> shards;
    for (int part = 0; part < parts; ++part) {
      auto const shard = split(x, plan, part);
      REQUIRE(shard.shape() == plan.shard_shape(full, part));
      REQUIRE(plan.full_shape(shard.shape()) == full);
      REQUIRE(shard.is_contiguous());
      REQUIRE_FALSE(shard.shares_storage(x));
      REQUIRE(equal(split_view(x, plan, part), shard));
      auto const odd = random.view(x.dtype(), shard.shape());  // strided shards gather as well
      copy(odd, shard);
      shards.push_back(part % 2 == 0 ? shard : odd);
    }
    REQUIRE(equal(gather(shards, plan), x));
    auto const turned = random.view(x.dtype(), full);
    write_lease const lease(turned.storage());
    for (int part = 0; part < parts; ++part)
      place(turned, shards[static_cast<std::size_t>(part)], plan, part, lease);
    REQUIRE(equal(turned, x));
  }
}
