// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <hocket/tensor/copy.hpp>
#include <hocket/tensor/tensor.hpp>
#include <numeric>
#include <type_traits>
#include <vector>

#include "expect_error.hpp"
#include "random_view.hpp"

using namespace hocket;

static_assert(sizeof(tensor) == sizeof(void*));
static_assert(std::is_nothrow_copy_constructible_v<tensor>);
static_assert(std::is_nothrow_move_assignable_v<tensor>);
static_assert(std::is_nothrow_default_constructible_v<tensor>);

TEST_CASE("copies of a handle are the same object and share everything") {
  auto const t = tensor::arange(dtype::f32, {2, 12, 4});
  tensor const copy = t;
  CHECK(copy.same_object(t));
  CHECK(copy.shares_storage(t));
  CHECK(t.ndim() == 3);
  CHECK(t.numel() == 96);
  CHECK(t.nbytes() == 384);
  CHECK(t.size(-1) == 4);
  CHECK(t.device().is_host());
  CHECK(t.is_contiguous());
  CHECK(std::vector<std::int64_t>(t.strides().begin(), t.strides().end()) ==
        std::vector<std::int64_t>{48, 4, 1});
  CHECK(t.item<float>(1, 2, 3) == 59.F);
  auto const clone = t.clone();
  CHECK_FALSE(clone.same_object(t));
  CHECK_FALSE(clone.shares_storage(t));
  CHECK(equal(clone, t));
  CHECK(t.contiguous().same_object(t));
}

TEST_CASE("an undefined tensor is equal to itself and an error to look into") {
  tensor const none;
  CHECK_FALSE(none.defined());
  CHECK(none.same_object(tensor()));
  CHECK(equal(none, tensor()));
  CHECK_FALSE(equal(none, tensor::zeros(dtype::u8, {})));
  CHECK_FALSE(none.overlaps(none));
  CHECK(brief(none) == "undefined");
  expect_error(errc::invalid_argument, "the tensor is undefined", [&] { (void)none.shape(); });
  expect_error(errc::invalid_argument, "the tensor is undefined",
               [&] { (void)none.slice(0, 0, 1); });
}

TEST_CASE("views share storage and see each other's writes") {
  auto const t = tensor::arange(dtype::i32, {4, 5, 6});
  auto const s = t.slice(-2, 1, 3);
  CHECK(s.shape() == shape(4, 3, 6));
  CHECK_FALSE(s.is_contiguous());
  CHECK(s.item<std::int32_t>(2, 0, 5) == 2 * 30 + 1 * 6 + 5);
  auto const row = s.select(1, -1);
  CHECK(row.shape() == shape(4, 6));
  CHECK(row.item<std::int32_t>(3, 2) == 3 * 30 + 3 * 6 + 2);
  auto const turned = row.transpose(0, -1);
  CHECK(turned.shape() == shape(6, 4));
  CHECK(turned.item<std::int32_t>(2, 3) == row.item<std::int32_t>(3, 2));
  t.data<std::int32_t>()[3 * 30 + 3 * 6 + 2] = -7;
  CHECK(turned.item<std::int32_t>(2, 3) == -7);
  CHECK(turned.shares_storage(t));
  CHECK(turned.contiguous().shape() == shape(6, 4));
  CHECK(equal(turned.contiguous(), turned));
  CHECK_FALSE(turned.contiguous().shares_storage(t));
}

TEST_CASE("reshape is a view where strides allow one, and says so where not") {
  auto const t = tensor::arange(dtype::i16, {4, 6});
  CHECK(t.reshape({2, 2, 3, 2}).shares_storage(t));
  CHECK(t.reshape({24}).item<std::int16_t>(13) == 13);
  CHECK(t.reshape({1, 24, 1}).shape() == shape(1, 24, 1));
  CHECK(t.reshape({4, 6}).same_object(t));
  auto const part = t.slice(1, 0, 4);  // strides 6, 1
  auto const four = part.reshape({2, 2, 1, 2, 2});
  CHECK(four.shares_storage(t));
  CHECK(four.item<std::int16_t>(1, 1, 0, 1, 0) == 3 * 6 + 2);
  CHECK(part.transpose(0, 1).reshape({2, 2, 4}).item<std::int16_t>(1, 1, 2) == 2 * 6 + 3);
  expect_error(errc::invalid_argument,
               "i16[4,4] with strides [6,1] has no view of shape [16]: make it contiguous first",
               [&] { (void)part.reshape({16}); });
  expect_error(errc::invalid_argument, "i16[4,6] has 24 elements, shape [5,5] has 25", [&] {
    (void)t.reshape({5, 5});
  });
  CHECK(part.flatten().shape() == shape(16));
  CHECK(part.flatten().item<std::int16_t>(15) == 3 * 6 + 3);
  CHECK(t.flatten().shares_storage(t));
  CHECK(t.select(1, 2).flatten().shares_storage(t));
}

TEST_CASE("zero-size and scalar tensors work in every function") {
  auto const none = tensor::empty(dtype::f64, {1, 0, 2});
  CHECK(none.numel() == 0);
  CHECK(none.nbytes() == 0);
  CHECK(none.is_contiguous());
  CHECK(none.transpose(0, 1).shape() == shape(0, 1, 2));
  CHECK(none.slice(2, 1, 1).shape() == shape(1, 0, 1));
  CHECK(none.select(0, 0).shape() == shape(0, 2));
  CHECK(none.reshape({0, 7}).shape() == shape(0, 7));
  CHECK(none.flatten().shape() == shape(0));
  CHECK(equal(none.clone(), none));
  CHECK(none.as_span<double>().empty());
  CHECK(tensor::from(std::span<double const>(), {3, 0}).numel() == 0);
  CHECK(tensor::unsafe_borrow(std::span<double>(), {3, 0}).slice(0, 1, 2).clone().shape() ==
        shape(2, 0));
  CHECK(tensor::arange(dtype::i8, {4}).slice(0, 4, 0).numel() == 0);

  auto const one = tensor::full(dtype::i64, {}, 42);
  CHECK(one.ndim() == 0);
  CHECK(one.numel() == 1);
  CHECK(one.item<std::int64_t>() == 42);
  CHECK(one.flatten().shape() == shape(1));
  CHECK(one.reshape({1, 1}).item<std::int64_t>(0, 0) == 42);
  CHECK(equal(one.clone(), one));
  CHECK(one.as_span<std::int64_t>()[0] == 42);
}

TEST_CASE("filled tensors hold what was asked for in every dtype") {
  for (int i = 0; i < dtype_count; ++i) {
    auto const type = static_cast<dtype>(i);
    CAPTURE(name_of(type));
    auto const t = tensor::arange(type, {3, 5});
    CHECK(t.dtype() == type);
    CHECK(t.nbytes() == 15 * size_of(type));
    CHECK(equal(t.slice(0, 1, 2), tensor::arange(type, {2, 5}, 5)));
    CHECK(equal(tensor::zeros(type, {7}), tensor::full(type, {7}, 0)));
    CHECK(equal(tensor::full(type, {}, 1), tensor::arange(type, {2}).select(0, 1)));
  }
  CHECK(tensor::arange(dtype::u8, {300}).item<std::uint8_t>(299) == 43);
  CHECK(static_cast<float>(tensor::arange(dtype::bf16, {300}).item<bfloat16>(257)) == 256.F);
  CHECK(
      tensor::full(dtype::u64, {1}, static_cast<long double>(UINT64_MAX)).item<std::uint64_t>(0) ==
      UINT64_MAX);
  CHECK(tensor::full(dtype::c128, {2}, 2.5L).item<std::complex<double>>(1) ==
        std::complex<double>(2.5, 0));
  expect_error(errc::invalid_argument, "300 does not fit u8",
               [] { (void)tensor::full(dtype::u8, {2}, 300); });
  expect_error(errc::invalid_argument, "0.5 does not fit i32",
               [] { (void)tensor::full(dtype::i32, {2}, 0.5L); });
}

TEST_CASE("tensors are made from values, or borrow them with or without an owner") {
  std::vector<std::int32_t> values(6);
  std::iota(values.begin(), values.end(), 10);
  auto const copy = tensor::from(std::span<std::int32_t const>(values), {2, 3});
  auto const owner = std::make_shared<int>(1);
  auto borrowed = tensor::borrow(std::span(values), {2, 3}, owner);
  auto const unowned = tensor::unsafe_borrow(std::span(values), {3, 2});
  values[4] = -4;
  CHECK(copy.item<std::int32_t>(1, 1) == 14);
  CHECK(borrowed.item<std::int32_t>(1, 1) == -4);
  CHECK(unowned.item<std::int32_t>(2, 0) == -4);
  CHECK(unowned.is_unowned());
  CHECK_FALSE(borrowed.is_unowned());
  CHECK(borrowed.overlaps(unowned));
  CHECK_FALSE(borrowed.shares_storage(unowned));
  auto const view = borrowed.slice(0, 1, 1);
  borrowed = tensor();
  CHECK(owner.use_count() == 2);
  expect_error(errc::invalid_argument, "6 values for i32[7]",
               [&] { (void)tensor::from(std::span<std::int32_t const>(values), {7}); });
  expect_error(errc::invalid_argument, "6 values for i32[2,2]", [&] {
    (void)tensor::unsafe_borrow(std::span(values), {2, 2});
  });
}

TEST_CASE("overlap is told by addresses") {
  auto const t = tensor::arange(dtype::u16, {4, 6});
  CHECK(t.overlaps(t));
  CHECK_FALSE(t.slice(0, 0, 2).overlaps(t.slice(0, 2, 2)));
  CHECK(t.slice(0, 0, 3).overlaps(t.slice(0, 2, 2)));
  CHECK(t.slice(1, 0, 2).overlaps(t.slice(1, 3, 2)));  // interleaved: the cautious answer
  CHECK_FALSE(t.overlaps(t.slice(0, 1, 0)));
  CHECK_FALSE(t.overlaps(t.clone()));
}

TEST_CASE("a tensor whose strides give several elements one address is read and not written") {
  auto const base = tensor::arange(dtype::i32, {12});
  auto const strided = [&](shape const& extents, std::vector<std::int64_t> const& strides) {
    return tensor::from_storage(base.storage(), dtype::i32, extents, strides, 0);
  };
  auto const row = strided({3, 4}, {0, 1});
  CHECK(row.overlaps_itself());
  CHECK(strided({4, 3}, {1, 1}).overlaps_itself());  // a sliding window
  CHECK(strided({3, 2}, {2, 3}).overlaps_itself());  // interleaved: the cautious answer
  CHECK_FALSE(strided({2, 2}, {2, 3}).overlaps_itself());
  CHECK_FALSE(strided({1, 4}, {0, 1}).overlaps_itself());
  CHECK_FALSE(strided({0, 4}, {0, 1}).overlaps_itself());
  CHECK_FALSE(strided({2, 5}, {1, 2}).overlaps_itself());
  CHECK_FALSE(base.reshape({3, 4}).transpose(0, 1).slice(0, 1, 2).overlaps_itself());
  CHECK_FALSE(tensor().overlaps_itself());
  for (int r = 0; r < 3; ++r) CHECK(equal(row.select(0, r), base.slice(0, 0, 4)));
  auto const source = tensor::zeros(dtype::i32, {3, 4});
  auto const story = "copy to i32[3,4] whose strides give several elements one address";
  expect_error(errc::invalid_argument, story, [&] { copy(row, source); });
  expect_error(errc::invalid_argument,
               "unpack to i32[3,4] whose strides give several elements one address",
               [&] { unpack(row, source.const_bytes()); });
  CHECK(base.item<std::int32_t>(3) == 3);
}

TEST_CASE("wrong uses are errors with the numbers") {
  auto const t = tensor::zeros(dtype::f32, {2, 3, 4});
  auto const invalid = errc::invalid_argument;
  expect_error(invalid, "dimension 3 is not in [-3, 3) of shape [2,3,4]",
               [&] { (void)t.slice(3, 0, 1); });
  expect_error(invalid, "slice of 3 from 2 along dimension -1 of f32[2,3,4]: its extent is 4",
               [&] { (void)t.slice(-1, 2, 3); });
  expect_error(invalid, "slice of 1 from -1 along dimension 0 of f32[2,3,4]: its extent is 2",
               [&] { (void)t.slice(0, -1, 1); });
  expect_error(invalid, "index 3 along dimension 1 of f32[2,3,4]: its extent is 3",
               [&] { (void)t.select(1, 3); });
  expect_error(invalid, "f32[2,3,4] read as f64", [&] { (void)t.data<double>(); });
  expect_error(invalid, "f32[2,3,4] read as i32", [&] { (void)t.item<std::int32_t>(0, 0, 0); });
  expect_error(invalid, "2 indices for f32[2,3,4]", [&] { (void)t.item<float>(0, 0); });
  expect_error(invalid, "index 4 along dimension 2 of f32[2,3,4]: its extent is 4",
               [&] { (void)t.item<float>(0, 0, 4); });
  expect_error(invalid, "as_span of f32[3,2,4] with strides [4,12,1]: make it contiguous first",
               [&] { (void)t.transpose(0, 1).as_span<float>(); });
  expect_error(invalid, "f32[5,5] at element 0 does not fit a storage of 96 bytes", [&] {
    (void)tensor::from_storage(t.storage(), dtype::f32, {5, 5});
  });
  expect_error(invalid, "f32[24] at element 1 does not fit a storage of 96 bytes",
               [&] { (void)tensor::from_storage(t.storage(), dtype::f32, {24}, 1); });
  std::array<std::int64_t, 2> const negative{1, -2};
  expect_error(invalid, "stride -2 of dimension 1 is negative", [&] {
    (void)tensor::from_storage(t.storage(), dtype::f32, {2, 2}, negative, 3);
  });
  auto const there = storage::unsafe_borrow(t.storage()->mutable_data(), 8, {device_kind::cuda, 1});
  auto const remote = tensor::from_storage(there, dtype::f32, {2});
  expect_error(errc::unsupported, "item of f32[2] on cuda:1: it reads host memory only",
               [&] { (void)remote.item<float>(0); });
  expect_error(errc::unsupported, "copy of f32[2] on cuda:1: it reads host memory only",
               [&] { (void)remote.clone(); });
}

TEST_CASE("the holder of a lease may write while others may not") {
  auto const t = tensor::zeros(dtype::u8, {4, 4});
  write_lease const lease(t.storage());
  CHECK(t.leased());
  t.slice(0, 2, 1).bytes(lease)[1] = std::byte{9};
  CHECK(t.item<std::uint8_t>(2, 1) == 9);
}

#if !defined(NDEBUG) || defined(HOCKET_CHECKED)
TEST_CASE("checked builds abort when a program writes to what an op holds") {
  auto const t = tensor::zeros(dtype::u8, {4});
  read_lease lease(t.storage());
  std::fflush(nullptr);  // or the child writes it again
  auto const child = ::fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // not the test framework's report
    ::dup2(::open("/dev/null", O_WRONLY), 2);
    static_cast<void>(t.bytes());
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGABRT);
  CHECK(t.const_bytes() != nullptr);  // reading is allowed
  lease.release();
  CHECK(t.bytes() == t.const_bytes());
}
#endif

TEST_CASE("random chains of views address the elements they should") {
  random_source random("views");
  for (int round = 0; round < 300; ++round) {
    auto extents = random.shape(5, 5);
    auto t = tensor::arange(dtype::i32, extents);
    // The model: the flat index of every element, in the view's row-major order.
    auto const model = [](tensor const& view) {
      std::vector<std::int32_t> seen;
      auto const packed = view.clone();
      for (auto const v : packed.as_span<std::int32_t>()) seen.push_back(v);
      return seen;
    };
    for (int step = 0; step < 4 && t.ndim() > 0; ++step) {
      auto const n = static_cast<std::int64_t>(t.ndim());
      auto const a = random.below(n);
      auto const b = random.below(n);
      auto const before = t;
      t = before.transpose(a, b - n);
      auto const again = t.transpose(b, a);
      REQUIRE(model(again) == model(before));
      auto const extent = t.size(a);
      auto const start = random.below(extent + 1);
      auto const length = random.below(extent - start + 1);
      auto const cut = t.slice(a, start, length);
      for (std::int64_t i = 0; i < length; ++i)
        REQUIRE(equal(cut.select(a, i), t.select(a, start + i)));
      auto const flat = cut.flatten();
      REQUIRE(model(flat) == model(cut));
      t = cut;
    }
  }
}
