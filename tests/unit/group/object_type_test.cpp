// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Members that expect objects of other types, and limits of a group's objects.
#include <array>
#include <cstdint>
#include <hocket/group/detail/object_type.hpp>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

#include "virtual_world.hpp"

using namespace hocket;
using namespace hocket::test;

namespace {

struct request_v2 {
  std::string text;
  std::int32_t steps = 0;
};
template <class V>
void hocket_describe(V& v, request_v2& r) {
  v.version(2);
  v(r.text, "text");
  v(r.steps, "steps");
}

struct same_fields {
  std::string_view text;
  std::uint64_t steps = 0;
};
template <class V>
void hocket_describe(V& v, same_fields& r) {
  v.version(2);
  v(r.text, "text");
  v(r.steps, "steps");
}

struct same_fields_owned {
  std::string text;
  std::uint8_t steps = 0;
};
template <class V>
void hocket_describe(V& v, same_fields_owned& r) {
  v.version(2);
  v(r.text, "text");
  v(r.steps, "steps");
}

struct other_fields {
  std::string text;
  std::int32_t count = 0;
};
template <class V>
void hocket_describe(V& v, other_fields& r) {
  v.version(2);
  v(r.text, "text");
  v(r.count, "count");
}

struct request_v3 {
  std::string text;
  std::int32_t steps = 0;
};
template <class V>
void hocket_describe(V& v, request_v3& r) {
  v.version(3);
  v(r.text, "text");
  v(r.steps, "steps");
}

// Takes what version 2 wrote, too.
struct request_v3_or_2 {
  std::string text;
  std::int32_t steps = 0;
};
template <class V>
void hocket_describe(V& v, request_v3_or_2& r) {
  v.version(3, 2);
  v(r.text, "text");
  v(r.steps, "steps");
}

struct tree {
  std::int64_t value = 0;
  std::vector<tree> below;
};
template <class V>
void hocket_describe(V& v, tree& t) {
  v(t.value, "value");
  v(t.below, "below");
}

template <class T>
std::uint64_t hash() {
  return detail::object_type_of<T>().hash;
}

template <class T>
T value_of_rank(int rank) {
  T v;
  v.text = std::string(static_cast<std::size_t>(rank) * 5 + 1, 'q');
  v.steps = 3 * rank + 1;
  return v;
}

struct trio {
  explicit trio(object_limits const& limits = object_limits(),
                object_limits const& mine_of_1 = object_limits()) {
    auto const list = rank_group::of(3, 1, 2);
    std::vector<work<process_group>> joins;
    for (auto const r : list)
      joins.push_back(
          make_group(v.ranks()[r.value()], list,
                     group_options().name("trio").objects(joins.size() == 1 ? mine_of_1 : limits)));
    for (auto const& w : joins) at.push_back(w.state()->take().channel(5));
  }
  ~trio() {
    for (auto const& c : at) c.close_channel();
  }
  trio(trio const&) = delete;
  trio& operator=(trio const&) = delete;

  virtual_world v{4};
  std::vector<process_group> at;  // channel 5 of each member
};

template <class T>
ending reading(work<T> const& w) {
  REQUIRE(w.ready());
  REQUIRE_MESSAGE(!now(w).code, now(w).story);
  try {
    static_cast<void>(w.state()->take());
    return {};
  } catch (...) {
    return ending_of(std::current_exception());
  }
}

void check_mismatch(ending const& e, std::string const& call, int odd, std::string const& number) {
  CHECK_MESSAGE(e.code == errc::mismatch, e.story);
  CHECK_MESSAGE(e.tells("the types of the objects differ"), e.story);
  CHECK_MESSAGE(e.tells("trio[3,1,2] ch 5 " + number + ": rank "), e.story);
  CHECK_MESSAGE(e.tells("rank " + std::to_string(odd) + " " + call), e.story);
  CHECK_MESSAGE(e.tells("other_fields"), e.story);
  CHECK_MESSAGE(e.tells("request_v2"), e.story);
  CHECK_MESSAGE(e.tells("(object_type_test.cpp:"), e.story);
}

template <class T>
using works = std::vector<work<T>>;

}  // namespace

TEST_CASE("types that can be read from each other's bytes have one hash, others have another") {
  std::vector<std::uint64_t> const alike{hash<std::int8_t>(), hash<std::uint64_t>(), hash<dtype>()};
  for (auto const h : alike) CHECK(h == alike[0]);
  CHECK(hash<std::string>() == hash<std::string_view>());
  CHECK(hash<std::vector<int>>() == hash<std::span<std::uint16_t const>>());
  CHECK(hash<std::vector<int>>() == hash<std::array<std::int64_t, 3>>());
  CHECK(hash<std::pair<int, bool>>() == hash<std::tuple<std::uint8_t, bool>>());
  CHECK(hash<std::map<std::string, int>>() == hash<std::unordered_map<std::string, std::int8_t>>());
  CHECK(hash<request_v2>() == hash<same_fields>());
  std::set<std::uint64_t> const apart{hash<bool>(),
                                      hash<int>(),
                                      hash<float>(),
                                      hash<double>(),
                                      hash<std::string>(),
                                      hash<std::vector<std::byte>>(),
                                      hash<std::vector<int>>(),
                                      hash<std::vector<std::vector<int>>>(),
                                      hash<std::vector<float>>(),
                                      hash<std::optional<int>>(),
                                      hash<std::map<int, int>>(),
                                      hash<std::pair<int, int>>(),
                                      hash<std::tuple<int, int, int>>(),
                                      hash<std::tuple<>>(),
                                      hash<std::variant<int, bool>>(),
                                      hash<std::variant<bool, int>>(),
                                      hash<tensor>(),
                                      hash<std::monostate>(),
                                      hash<request_v2>(),
                                      hash<other_fields>(),
                                      hash<request_v3>(),
                                      hash<tree>(),
                                      hash<std::vector<tree>>()};
  CHECK(apart.size() == 23);
  CHECK(apart.count(0) == 0);
  CHECK(hash<request_v3_or_2>() == 0);  // only the bytes can tell
  CHECK(hash<std::vector<request_v3_or_2>>() == 0);
  using table = std::map<std::string, std::vector<std::optional<int>>>;
  CHECK(detail::object_type_of<table>().name == "map<string, list<optional<integer>>>");
}

TEST_CASE("all members of an object collective learn who expects which type, and go on") {
  for (int odd : {0, 1, 2}) {
    trio t;
    works<request_v2> most;
    works<other_fields> one;
    for (auto const& c : t.at) {
      std::optional<request_v2> given;
      if (c.rank() == group_rank(1)) given = value_of_rank<request_v2>(4);
      if (c.rank().value() == odd) {
        one.push_back(c.broadcast_object<other_fields>(other_fields(), group_rank(1)));
      } else {
        most.push_back(c.broadcast_object<request_v2>(given, group_rank(1)));
      }
    }
    works<std::vector<request_v2>> gathers;
    works<std::vector<other_fields>> gather;
    for (auto const& c : t.at) {
      if (c.rank().value() == odd) {
        gather.push_back(c.gather_objects(other_fields(), group_rank(2)));
      } else {
        gathers.push_back(c.gather_objects(value_of_rank<request_v2>(1), group_rank(2)));
      }
    }
    works<request_v2> scatters;
    works<other_fields> scatter;
    for (auto const& c : t.at) {
      if (c.rank().value() == odd) {
        scatter.push_back(c.scatter_objects(std::vector<other_fields>(3), group_rank(0)));
      } else {
        scatters.push_back(c.scatter_objects(std::vector<request_v2>(3), group_rank(0)));
      }
    }
    check_mismatch(now(one[0]), "broadcast_object of ", odd, "#0");
    check_mismatch(now(gather[0]), "gather_objects of ", odd, "#1");
    check_mismatch(now(scatter[0]), "scatter_objects of ", odd, "#2");
    for (auto const& w : most) check_mismatch(now(w), "broadcast_object of ", odd, "#0");
    for (auto const& w : gathers) check_mismatch(now(w), "gather_objects of ", odd, "#1");
    for (auto const& w : scatters) check_mismatch(now(w), "scatter_objects of ", odd, "#2");
    works<std::vector<request_v2>> good;
    for (auto const& c : t.at)
      good.push_back(c.gather_objects(value_of_rank<request_v2>(c.rank().value()), group_rank(1)));
    auto const all = good[1].state()->take();
    for (int r = 0; r < 3; ++r) {
      CHECK(all[static_cast<std::size_t>(r)].steps == 3 * r + 1);
      CHECK(all[static_cast<std::size_t>(r)].text.size() == static_cast<std::size_t>(5 * r + 1));
    }
  }
}

TEST_CASE("both sides of an object message learn that the types differ, whoever comes first") {
  for (bool first : {true, false}) {
    trio t;
    work<> sent;
    if (first) sent = t.at[2].send_object(value_of_rank<request_v2>(2), group_rank(0));
    auto const got = t.at[0].recv_object<other_fields>(first ? any_source : source(group_rank(2)));
    if (!first) sent = t.at[2].send_object(value_of_rank<request_v2>(2), group_rank(0));
    check_mismatch(now(sent), "send_object of ", 2, "#0");
    check_mismatch(now(got), "recv_object of ", 0, "#0");
    t.at[2].send_object(value_of_rank<request_v2>(2), group_rank(0));
    auto const next = t.at[0].recv_object<same_fields_owned>(any_source);
    CHECK(next.state()->take().steps == 7);
  }
}

TEST_CASE("what only the bytes show is told to who reads them, with operation, place and giver") {
  trio t;
  works<request_v3_or_2> readers;
  work<request_v2> giver;
  for (auto const& c : t.at) {
    if (c.rank().value() == 2) {
      giver = c.broadcast_object<request_v2>(value_of_rank<request_v2>(3), group_rank(2));
    } else {
      readers.push_back(c.broadcast_object<request_v3_or_2>({}, group_rank(2)));
    }
  }
  for (auto const& w : readers) CHECK(w.state()->take().steps == 10);  // it takes version 2
  CHECK(giver.state()->take().steps == 10);
  works<std::vector<std::int8_t>> narrow;
  for (auto const& c : t.at) {
    int const r = c.rank().value();
    if (r == 1) {
      narrow.push_back(c.gather_objects(std::int8_t{1}, group_rank(1)));
    } else {
      static_cast<void>(c.gather_objects(std::int32_t{100 + 60 * r}, group_rank(1)));
    }
  }
  auto const e = reading(narrow[0]);
  CHECK(e.code == errc::corrupt);
  CHECK_MESSAGE(e.tells("trio[3,1,2] ch 5 #1 gather_objects (object_type_test.cpp:"), e.story);
  CHECK_MESSAGE(e.tells("the object of rank 2 cannot be read: "), e.story);
  CHECK_MESSAGE(e.tells("220"), e.story);
  t.at[2].send_object(std::int32_t{-7}, group_rank(0), op_options().tag(4));
  auto const got = t.at[0].recv_object<std::uint8_t>(any_source, op_options().tag(4));
  auto const message = reading(got);
  CHECK_MESSAGE(message.tells("the object of rank 2 cannot be read: "), message.story);
  CHECK_MESSAGE(message.tells("recv_object (object_type_test.cpp:"), message.story);
}

TEST_CASE("a group's limits hold for its objects where they are sent and where they are read") {
  auto const small = object_limits().bytes_max(1000).depth_max(3);
  {
    trio t(small, small);
    works<std::string> ends;
    for (auto const& c : t.at)
      ends.push_back(c.broadcast_object<std::string>(std::string(900, 'x'), group_rank(2)));
    for (auto const& w : ends) CHECK(w.state()->take().size() == 900);
    ends.clear();
    for (auto const& c : t.at)
      ends.push_back(c.broadcast_object<std::string>(std::string(1001, 'x'), group_rank(2)));
    CHECK(now(ends[2]).code == errc::too_large);
    CHECK_MESSAGE(now(ends[2]).tells("at most 1000 allowed"), now(ends[2]).story);
    for (auto const i : {0, 1}) {
      auto const e = now(ends[static_cast<std::size_t>(i)]);
      CHECK(e.code == errc::peer_failed);
      CHECK_MESSAGE(e.tells("rank 2 could not take part"), e.story);
      CHECK_MESSAGE(e.tells("at most 1000 allowed"), e.story);
    }
    using deep = std::vector<std::vector<std::vector<std::vector<std::string>>>>;
    auto const sent = t.at[0].send_object(deep(1, {{{"x"}}}), group_rank(1));
    CHECK(now(sent).code == errc::too_large);
    auto const got = t.at[1].recv_object<deep>(group_rank(0));
    CHECK(now(got).code == errc::peer_failed);
  }
  trio t(object_limits(), small);  // only rank 1 takes small ones
  works<std::string> ends;
  for (auto const& c : t.at)
    ends.push_back(c.broadcast_object<std::string>(std::string(1500, 'y'), group_rank(0)));
  CHECK(ends[0].state()->take().size() == 1500);
  CHECK(ends[2].state()->take().size() == 1500);
  auto const e = reading(ends[1]);
  CHECK(e.code == errc::too_large);
  CHECK_MESSAGE(e.tells("at most 1000 allowed"), e.story);
  CHECK_MESSAGE(e.tells("the object of rank 0 cannot be read"), e.story);
}
