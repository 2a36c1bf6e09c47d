// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <cstring>
#include <hocket/tensor/copy.hpp>
#include <vector>

#include "expect_error.hpp"
#include "random_view.hpp"

using namespace hocket;

namespace {

// Element by element, in row-major order: what copies must agree with.
std::vector<std::byte> packed_slowly(tensor const& t) {
  std::vector<std::byte> out;
  auto const size = size_of(t.dtype());
  std::vector<std::int64_t> at(t.ndim(), 0);
  for (std::int64_t n = 0; n < t.numel(); ++n) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < at.size(); ++i) offset += at[i] * t.strides()[i];
    auto const* const element = t.const_bytes() + offset * static_cast<std::int64_t>(size);
    out.insert(out.end(), element, element + size);
    for (auto i = at.size(); i-- > 0;) {
      if (++at[i] < t.shape()[i]) break;
      at[i] = 0;
    }
  }
  return out;
}

}  // namespace

TEST_CASE("copy, pack and unpack move every bit of every dtype between any strides") {
  random_source random("copies");
  for (int round = 0; round < 2000; ++round) {
    auto const type = static_cast<dtype>(round % dtype_count);
    auto const extents = random.shape(6, 5);
    auto const src = random.view(type, extents);
    auto const dst = random.view(type, extents);
    CAPTURE(brief(src));
    auto const expected = packed_slowly(src);
    copy(dst, src);
    REQUIRE(packed_slowly(dst) == expected);
    REQUIRE(equal(dst, src));

    std::vector<std::byte> flat(src.nbytes() + 1, std::byte{0x5a});
    pack(src, flat.data());
    REQUIRE(flat.back() == std::byte{0x5a});
    flat.pop_back();
    REQUIRE(flat == expected);
    auto const third = random.view(type, extents);
    unpack(third, flat.data());
    REQUIRE(packed_slowly(third) == expected);
  }
}

TEST_CASE("a copy writes nothing beside the elements of its destination") {
  auto const whole = tensor::full(dtype::i16, {5, 6, 7}, -1);
  copy(whole.slice(1, 2, 3).transpose(0, 2), tensor::arange(dtype::i16, {7, 3, 5}));
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 6; ++j)
      for (int k = 0; k < 7; ++k) {
        int const expected = j >= 2 && j < 5 ? k * 15 + (j - 2) * 5 + i : -1;
        REQUIRE(whole.item<std::int16_t>(i, j, k) == expected);
      }
}

TEST_CASE("large transposes pass through whole and partial tiles") {
  for (auto const type : {dtype::u8, dtype::f32, dtype::c128}) {
    auto const t = tensor::arange(type, {3, 65, 130});
    auto const turned = t.transpose(1, 2).contiguous();
    CHECK(equal(turned.transpose(1, 2), t));
    CHECK(packed_slowly(t.transpose(0, 2)) == packed_slowly(t.transpose(0, 2).clone()));
  }
}

TEST_CASE("a column of a matrix and a transposed matrix copy by value, not by raw storage") {
  auto const m = tensor::arange(dtype::i32, {2, 5});
  auto const column = m.select(1, 0).clone();
  CHECK(column.item<std::int32_t>(0) == 0);
  CHECK(column.item<std::int32_t>(1) == 5);
  auto const turned = m.transpose(0, 1).clone();
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 2; ++j) CHECK(turned.item<std::int32_t>(i, j) == 5 * j + i);
}

TEST_CASE("the holder of a lease copies into leased storage") {
  auto const dst = tensor::zeros(dtype::f32, {3, 4});
  auto const src = tensor::arange(dtype::f32, {4, 3}).transpose(0, 1);
  write_lease const lease(dst.storage());
  copy(dst, src, lease);
  CHECK(equal(dst, src));
  std::vector<float> const values(12, 2.F);
  unpack(dst.transpose(0, 1), reinterpret_cast<std::byte const*>(values.data()), lease);
  CHECK(equal(dst, tensor::full(dtype::f32, {3, 4}, 2)));
}

TEST_CASE("copies between different shapes or dtypes are errors that name both") {
  auto const t = tensor::zeros(dtype::f32, {2, 3});
  expect_error(errc::invalid_argument, "copy of f32[3,2] to f32[2,3]", [&] {
    copy(t, tensor::zeros(dtype::f32, {3, 2}));
  });
  expect_error(errc::invalid_argument, "copy of i32[2,3] to f32[2,3]", [&] {
    copy(t, tensor::zeros(dtype::i32, {2, 3}));
  });
}
