// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <hocket/tensor/device.hpp>
#include <hocket/tensor/shape.hpp>
#include <type_traits>

#include "expect_error.hpp"

using hocket::errc;
using hocket::shape;

namespace {
std::string text(shape const& s) { return to_string(s); }
}  // namespace

static_assert(std::is_trivially_destructible_v<shape> && std::is_trivially_copyable_v<shape>);

TEST_CASE("a shape is written as its extents") {
  CHECK(text({2, 12, 4}) == "[2,12,4]");
  CHECK(text({7}) == "[7]");
  CHECK(text({}) == "[]");
  CHECK(shape(2, std::size_t{3}) == shape(2L, 3));
  CHECK(shape(2, 3) != shape(2, 3, 1));
  CHECK(shape(2, 3).numel() == 6);
  CHECK(shape().numel() == 1);
  CHECK(shape(1, 0, 2).numel() == 0);
}

TEST_CASE("wrong shapes are errors with the numbers") {
  expect_error(errc::invalid_argument, "extent -3 of dimension 1 is negative",
               [] { (void)shape(2, -3); });
  expect_error(errc::invalid_argument, "more than 8 dimensions: [1,2,3,4,5,6,7,8] and another 9",
               [] { (void)shape(1, 2, 3, 4, 5, 6, 7, 8, 9); });
  expect_error(errc::too_large, "shape [4294967296,4294967296] has more than 2^63 - 1 elements",
               [] { (void)shape(1LL << 32, 1LL << 32).numel(); });
  CHECK(shape(1LL << 32, 1LL << 32, 0).numel() == 0);
}

TEST_CASE("dimensions count from the front or from the back") {
  shape const s(2, 3, 4);
  CHECK(s.dim_index(0) == 0);
  CHECK(s.dim_index(-1) == 2);
  CHECK(s.dim_index(-3) == 0);
  expect_error(errc::invalid_argument, "dimension 3 is not in [-3, 3) of shape [2,3,4]",
               [&] { (void)s.dim_index(3); });
  expect_error(errc::invalid_argument, "dimension -4 is not in [-3, 3) of shape [2,3,4]",
               [&] { (void)s.dim_index(-4); });
  expect_error(errc::invalid_argument, "dimension 0 of a scalar: it has none",
               [] { (void)shape().dim_index(0); });
}

TEST_CASE("a device prints as its kind and index") {
  CHECK(to_string(hocket::device{}) == "host");
  CHECK(to_string(hocket::device{hocket::device_kind::cuda, 3}) == "cuda:3");
}
