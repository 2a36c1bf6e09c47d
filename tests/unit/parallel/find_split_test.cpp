// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <hocket/parallel/find_split.hpp>
#include <vector>

#include "golden.hpp"
#include "refusal.hpp"

using namespace hocket;
using hocket::test::is_refused;
using hocket::test::refusal;
namespace json = boost::json;

namespace {

using extents = std::vector<std::int64_t>;

extents list(json::value const& value) {
  if (!value.is_array()) return {value.to_number<std::int64_t>()};
  return json::value_to<extents>(value);
}

// Wrong there: the recorded call answered where the arguments have no meaning.
bool is_meaningless(json::object const& record) {
  for (auto key : {"shape", "patch", "cp_size", "view"})
    for (auto number : list(record.at(key)))
      if (number < 1) return true;
  return false;
}

}  // namespace

TEST_CASE("185 calls of find_split give the recorded shapes, or are refused") {
  auto const data = test::golden("find_split.json");
  int same = 0;
  int refused_there = 0;
  int refused_here = 0;
  for (auto const& value : data.at("records").as_array()) {
    auto const& record = value.as_object();
    CAPTURE(json::serialize(record));
    split_shape split;
    auto const story = refusal([&] {
      split = find_split(
          shape5::from(list(record.at("shape"))), record.at("cp_size").to_number<std::int64_t>(),
          patch3::from(list(record.at("patch"))), record.at("view").to_number<std::int64_t>());
      return true;
    });
    bool const fails_there = record.contains("error");
    if (fails_there || !record.at("exact").as_bool() || is_meaningless(record)) {
      CHECK_MESSAGE(is_refused(story), story);
      ++(fails_there ? refused_there : refused_here);
      continue;
    }
    CHECK_MESSAGE(!is_refused(story), story);
    CHECK(extents{split.t, split.h, split.w} == list(record.at("result")));
    CHECK(split.cp_t == record.at("cp_size_t").to_number<std::int64_t>());
    CHECK(split.cp_t * split.cp_h == record.at("cp_size").to_number<std::int64_t>());
    ++same;
  }
  CHECK(same == 101);
  CHECK(refused_there == 74);
  CHECK(refused_here == 10);
}

TEST_CASE("frames are split first, then the height") {
  CHECK(find_split({1, 16, 24, 88, 160}, 8) == split_shape{3, 88, 160, 8, 1});
  CHECK(find_split({1, 16, 24, 88, 160}, 6) == split_shape{4, 88, 160, 6, 1});
  CHECK(find_split({1, 16, 6, 88, 160}, 4) == split_shape{3, 44, 160, 2, 2});
  CHECK(find_split({1, 16, 21, 60, 104}, 2) == split_shape{21, 30, 104, 1, 2});
  CHECK(find_split({1, 16, 24, 88, 160}, 8, {}, 3) == split_shape{1, 88, 160, 8, 1});
  CHECK(find_split({1, 16, 24, 88, 160}, 1) == split_shape{24, 88, 160, 1, 1});
}

TEST_CASE("a split that would need the width, or is not exact, is refused with the numbers") {
  CHECK(refusal([] {
          return find_split({1, 16, 21, 60, 104}, 8);
        }) ==
        "find_split: cp_size 8 = t 1 * h 2 * 4 left over, and the width 104 is never split: lower "
        "cp_size (frames 21, height 60, patch 1,2,2)");
  CHECK(is_refused(refusal([] { return find_split({1, 16, 29, 88, 160}, 8); })));
  CHECK(refusal([] {
          return find_split({1, 16, 6, 45, 80}, 4);
        }) == "find_split: h 45 in patches of 2 goes to 2 ranks, but 45 % 2 = 1");
  CHECK(refusal([] {
          return find_split({1, 16, 7, 44, 80}, 4, {}, 2);
        }) == "find_split: 7 frames are not 2 equal views: 7 % 2 = 1");
  CHECK(refusal([] {
          return find_split({1, 16, 0, 44, 80}, 4);
        }) ==
        "find_split: t 0 is below 1 (shape 1,16,0,44,80, cp_size 4, patch 1,2,2, view_factor 1)");
}
