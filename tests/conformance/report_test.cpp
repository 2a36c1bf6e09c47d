// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// What a failing case prints, and the reference itself by results worked out by hand.
#include "report.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>

#include "buffer.hpp"

using namespace hocket;
using namespace hocket::conformance;

namespace {

template <class T>
array of(extents const& e, std::vector<T> const& values) {
  array a(dtype_of<T>, e);
  if (!values.empty()) std::memcpy(a.bytes.data(), values.data(), a.bytes.size());
  return a;
}
array bits16(dtype t, std::vector<std::uint16_t> const& values) {
  array a = of<std::uint16_t>({static_cast<std::int64_t>(values.size())}, values);
  a.dtype = t;
  return a;
}

trial_name name() {
  trial_name t;
  t.operation = "all_reduce f32 sum [2,3], strided -> transposed";
  t.engine = "host (HOCKET_IO=epoll)";
  t.group = "reversed cp[2,1,0]";
  t.ranks = 4;
  t.rank = 1;
  t.seed = 77;
  return t;
}

}  // namespace

TEST_CASE("a failing case prints operation, engine, ranks, seed, first wrong element and both") {
  auto const want = of<float>({2, 3}, {1, 2, 3, 4, 5.5F, 6});
  auto const got = of<float>({2, 3}, {1, 2, 3, 4, 5, -6});
  auto const d = difference_of(got, want);
  REQUIRE(d);
  CHECK(report(name(), want, *d) ==
        "operation all_reduce f32 sum [2,3], strided -> transposed\n"
        "  engine   host (HOCKET_IO=epoll)\n"
        "  ranks    4\n"
        "  group    reversed cp[2,1,0]\n"
        "  on rank  1\n"
        "  seed     77\n"
        "  element  4 [1,1], the first of 2 wrong ones in f32[2,3]\n"
        "  expected 5.5 (0x40b00000)\n"
        "  got      5 (0x40a00000)\n"
        "  again    HOCKET_SEED=77");
}

TEST_CASE("a failing case prints what ended otherwise, and arrays of another kind") {
  auto const story = report(name(), "mismatch", "success");
  CHECK(story.find("  expected mismatch\n  got      success\n  again    HOCKET_SEED=77") !=
        story.npos);
  auto const want = of<float>({6}, {1, 2, 3, 4, 5, 6});
  auto const other = of<std::int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  auto const d = difference_of(other, want);
  REQUIRE(d);
  auto const kinds = report(name(), want, *d);
  CHECK(kinds.find("  expected f32[6]\n  got      i32[2,3]\n") != kinds.npos);
  CHECK_FALSE(difference_of(want, want));
}

TEST_CASE("elements are spelled as numbers and as bits") {
  auto const i = of<std::int8_t>({1}, {-3});
  CHECK(spelled(dtype::i8, i.at(0)) == "-3 (0xfd)");
  auto const c = of<float>({2}, {1.5F, -2});
  CHECK(spelled(dtype::c64, c.at(0)) == "1.5+-2i (0xc00000003fc00000)");
  CHECK(spelled(dtype::f16, bits16(dtype::f16, {0x4a40}).at(0)) == "12.5 (0x4a40)");
  CHECK(spelled(dtype::bf16, bits16(dtype::bf16, {0x7f80}).at(0)) == "inf (0x7f80)");
  CHECK(spelled(dtype::f8e4m3, i.at(0)) == "0xfd");
  CHECK(place_of(0, {}).empty());
  CHECK(place_of(5, {1, 2, 3}) == "[0,1,2]");
}

TEST_CASE("the reference reduces as worked out by hand") {
  auto const bytes = [](std::uint8_t x) { return of<std::uint8_t>({1}, {x}); };
  CHECK(reduced({bytes(200), bytes(100)}, reduction::sum).bytes == bytes(44).bytes);
  CHECK(reduced({bytes(200), bytes(100)}, reduction::product).bytes == bytes(32).bytes);
  CHECK(reduced({bytes(200), bytes(100)}, reduction::min).bytes == bytes(100).bytes);
  CHECK(reduced({bytes(12), bytes(10)}, reduction::bit_xor).bytes == bytes(6).bytes);
  auto const signs = [](std::int16_t x) { return of<std::int16_t>({1}, {x}); };
  CHECK(reduced({signs(-5), signs(3)}, reduction::min).bytes == signs(-5).bytes);
  CHECK(reduced({signs(32767), signs(1)}, reduction::sum).bytes == signs(-32768).bytes);
  auto const half = [](std::uint16_t x) { return bits16(dtype::f16, {x}); };
  // 2048 + 1 + 1 + 1 is 2051, between 2050 and 2052: to even, and not 2048 three times over.
  CHECK(reduced({half(0x6800), half(0x3c00), half(0x3c00), half(0x3c00)}, reduction::sum).bytes ==
        half(0x6802).bytes);
  CHECK(reduced({half(0x7bff), half(0x7bff)}, reduction::sum).bytes == half(0x7c00).bytes);
  CHECK(reduced({half(0x0001), half(0x0001)}, reduction::sum).bytes == half(0x0002).bytes);
  // (1 + 2i)(-1 + 2i) is -5 + 0i.
  auto const product = reduced({[] {
                                  auto a = of<float>({2}, {1, 2});
                                  a.dtype = dtype::c64;
                                  a.extents = {1};
                                  return a;
                                }(),
                                [] {
                                  auto a = of<float>({2}, {-1, 2});
                                  a.dtype = dtype::c64;
                                  a.extents = {1};
                                  return a;
                                }()},
                               reduction::product);
  CHECK(product.bytes == of<float>({2}, {-5, 0}).bytes);
  auto const f = [](float x) { return of<float>({1}, {x}); };
  CHECK(reduced({f(1), f(2), f(4)}, reduction::average).bytes == f(7.0F / 3.0F).bytes);
  auto const nan = f(std::numeric_limits<float>::quiet_NaN());
  CHECK(same_element(dtype::f32, reduced({f(1), nan, f(2)}, reduction::max).at(0), nan.at(0)));
}

TEST_CASE("the reference cuts as worked out by hand") {
  using list = std::vector<std::int64_t>;
  CHECK(indices_of(layout::strict, 6, 3, 1) == list{2, 3});
  CHECK(indices_of(layout::balanced, 8, 3, 2) == list{6, 7});
  CHECK(indices_of(layout::balanced, 3, 4, 3) == list{});
  CHECK(indices_of(layout::padded, 7, 2, 1) == list{4, 5, 6, -1});
  CHECK(indices_of(layout::zigzag, 8, 2, 0) == list{0, 1, 6, 7});
  auto const x = of<std::uint8_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(take(x, 1, {2, -1, 0}).bytes == of<std::uint8_t>({2, 3}, {3, 0, 1, 6, 0, 4}).bytes);
  CHECK(piece(x, 3, 2, {2}).bytes == of<std::uint8_t>({2}, {5, 6}).bytes);
}

TEST_CASE("a buffer notices what is written between its elements") {
  for (int f = 0; f < form_count; ++f) {
    auto const x = of<std::uint16_t>({2, 3}, {1, 2, 3, 4, 5, 6});
    buffer b(static_cast<form>(f), x);
    CHECK(b.content().bytes == x.bytes);
    CHECK(b.is_clean_around());
  }
  buffer b(form::strided, dtype::u8, {4});
  b.view().bytes()[-1] = std::byte{0};
  CHECK_FALSE(b.is_clean_around());
}

TEST_CASE("what is neither reducible nor made of bits is marked so in both tables") {
  for (int d = 0; d < dtype_count; ++d)
    for (int k = 0; k < reduction_count; ++k)
      CHECK(has_meaning(static_cast<dtype>(d), static_cast<reduction>(k)) ==
            is_reducible(static_cast<dtype>(d), static_cast<reduction>(k)));
}
