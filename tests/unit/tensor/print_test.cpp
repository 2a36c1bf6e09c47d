// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <hocket/tensor/print.hpp>

using namespace hocket;

TEST_CASE("a tensor prints as nested lists of equal width, with dtype and shape") {
  CHECK(to_string(tensor::arange(dtype::i32, {2, 3}, 8)) ==
        "[[ 8,  9, 10],\n [11, 12, 13]] i32[2,3]");
  CHECK(to_string(tensor::arange(dtype::u8, {2, 1, 2})) == "[[[0, 1]],\n\n [[2, 3]]] u8[2,1,2]");
  CHECK(to_string(tensor::full(dtype::f32, {}, 1.5L)) == "1.5 f32[]");
  CHECK(to_string(tensor::full(dtype::f16, {2}, 0.5L)) == "[0.5, 0.5] f16[2]");
  CHECK(to_string(tensor::arange(dtype::boolean, {2})) == "[false,  true] bool[2]");
  CHECK(to_string(tensor::full(dtype::c64, {1}, -2)) == "[-2+0i] c64[1]");
  CHECK(to_string(tensor::zeros(dtype::f64, {1, 0, 2})) == "[] f64[1,0,2]");
  CHECK(to_string(tensor()) == "undefined");
  CHECK(to_string(tensor::arange(dtype::i8, {2, 2}).transpose(0, 1)) ==
        "[[0, 2],\n [1, 3]] i8[2,2]");
}

TEST_CASE("a large tensor shows only the ends of its dimensions") {
  CHECK(to_string(tensor::arange(dtype::i64, {1001})) ==
        "[   0,    1,    2, ...,  998,  999, 1000] i64[1001]");
  auto const text = to_string(tensor::arange(dtype::i64, {300, 2, 300}));
  CHECK(text.size() < 1500);
  CHECK(text.find("...,") != std::string::npos);
  CHECK(text.ends_with("179999]]] i64[300,2,300]"));
}

TEST_CASE("a device tensor shows where it is, not its elements") {
  std::byte byte{};
  auto const s = storage::unsafe_borrow(&byte, 1, {device_kind::cuda, 2});
  CHECK(to_string(tensor::from_storage(s, dtype::u8, {1})) == "u8[1] on cuda:2");
}
