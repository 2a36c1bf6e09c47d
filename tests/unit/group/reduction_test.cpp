// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <cmath>
#include <complex>
#include <hocket/tensor/half.hpp>
#include <hocket/tensor/reduction.hpp>
#include <hocket/tensor/split_plan.hpp>
#include <limits>
#include <ranks.hpp>
#include <type_traits>
#include <vector>

#include "ending.hpp"

using namespace hocket;
using namespace hocket::test;
namespace asio = boost::asio;

namespace {

// Small, so that sums and products of five are exact in every dtype that has them.
int value_at(int rank, std::int64_t i) {
  return static_cast<int>((3 * rank + 5 * i + rank * i) % 4) + 1;
}

template <class T>
tensor numbers(int rank, shape const& extents) {
  tensor t = tensor::empty(dtype_of<T>, extents);
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    int const v = value_at(rank, i);
    if constexpr (std::is_same_v<T, bool>) {
      t.data<T>()[i] = v % 2 == 0;
    } else if constexpr (std::is_integral_v<T>) {
      t.data<T>()[i] = static_cast<T>(v);
    } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::complex<double>>) {
      t.data<T>()[i] = T(static_cast<double>(v));
    } else {
      t.data<T>()[i] = T(static_cast<float>(v));
    }
  }
  return t;
}

// One element's result, by plain arithmetic on small integers.
double expected(reduction how, int n, std::int64_t i, bool boolean) {
  auto const at = [&](int r) { return boolean ? value_at(r, i) % 2 == 0 : value_at(r, i); };
  int all = at(0);
  for (int r = 1; r < n; ++r) {
    int const x = at(r);
    switch (how) {
      case reduction::sum:
      case reduction::average:
      case reduction::premultiplied_sum:  // by 1, where no factor is given
        all += x;
        break;
      case reduction::product:
        all *= x;
        break;
      case reduction::min:
        all = std::min(all, x);
        break;
      case reduction::max:
        all = std::max(all, x);
        break;
      case reduction::bit_and:
        all &= x;
        break;
      case reduction::bit_or:
        all |= x;
        break;
      case reduction::bit_xor:
        all ^= x;
        break;
    }
  }
  return how == reduction::average ? static_cast<double>(all) / n : all;
}

template <class T>
bool is_near(T got, double want) {
  if constexpr (std::is_integral_v<T>) {
    return got == static_cast<T>(static_cast<std::int64_t>(want));
  } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>) {
    return std::abs(static_cast<double>(got.real()) - want) < 1e-5 && got.imag() == 0;
  } else {
    auto const tolerance = std::is_same_v<T, bfloat16> ? want / 256 : want / 2048;
    return std::abs(static_cast<double>(static_cast<float>(got)) - want) <= tolerance;
  }
}

// All reductions of one dtype: right where they are defined, refused alike on all ranks elsewhere.
template <class T>
asio::awaitable<void> every_reduction(world w) {
  auto const g = w.group();
  int const n = g.size();
  shape const extents(7, 3);
  for (int k = 0; k < reduction_count; ++k) {
    auto const how = static_cast<reduction>(k);
    tensor t = numbers<T>(g.rank().value(), extents);
    auto const e = co_await ended(g.all_reduce(t, how));
    if (!is_reducible(dtype_of<T>, how)) {
      CHECK(e.code == errc::unsupported);
      CHECK_MESSAGE(e.tells(std::string(name_of(dtype_of<T>)) + " (" + name_of(how) + ")"),
                    e.story);
      continue;
    }
    CHECK_MESSAGE(!e.code, e.story);
    int wrong = 0;
    for (std::int64_t i = 0; i < t.numel(); ++i)
      wrong += !is_near<T>(t.const_data<T>()[i], expected(how, n, i, std::is_same_v<T, bool>));
    CHECK_MESSAGE(wrong == 0, name_of(dtype_of<T>), " ", name_of(how));
  }
}

asio::awaitable<void> forms(process_group g, shape part, form in_form, form out_form) {
  int const n = g.size();
  int const me = g.rank().value();
  auto whole = part;
  whole.set(0, n * part[0]);
  auto want = tensor::empty(dtype::i32, whole);
  for (std::int64_t i = 0; i < want.numel(); ++i)
    want.data<std::int32_t>()[i] = static_cast<std::int32_t>(expected(reduction::sum, n, i, false));
  auto const in = as(in_form, numbers<std::int32_t>(me, whole));
  auto out = laid_out(out_form, dtype::i32, whole);
  co_await g.all_reduce(out, in);
  CHECK(equal(out, want));

  int const root = n - 1;
  auto at_root = me == root ? laid_out(out_form, dtype::i32, whole) : tensor();
  co_await g.reduce(at_root, in, reduction::sum, group_rank(root));
  if (me == root) CHECK(equal(at_root, want));

  auto mine = laid_out(out_form, dtype::i32, part);
  co_await g.reduce_scatter(mine, in);
  CHECK(equal(mine, want.slice(0, me * part[0], part[0])));
  auto both = in.clone();  // in place
  auto const own = both.slice(0, me * part[0], part[0]);
  co_await g.reduce_scatter(own, both);
  CHECK(equal(own, mine));

  auto const plan = make_split_plan(layout::balanced, whole, n, -1);
  auto piece = laid_out(out_form, dtype::i32, plan.shard_shape(whole, me));
  co_await g.reduce_scatter_v(piece, in, plan);
  CHECK(equal(piece, split(want, plan, me)));
}

// Sums that depend on their order: every rank has the same bits, each time.
asio::awaitable<void> same_bits(world w, std::vector<tensor>& results) {
  auto const g = w.group();
  auto t = tensor::empty(dtype::f32, {3001});
  for (int i = 0; i < 3001; ++i)
    t.data<float>()[i] =
        std::ldexp(1.0F + 0.001F * static_cast<float>(i), (g.rank().value() * 7 + i) % 23);
  co_await g.all_reduce(t);
  results[static_cast<std::size_t>(g.rank().value())] = t;
}

asio::awaitable<void> halves(world w) {
  auto const g = w.group();
  bool const first = w.rank().value() == 0;
  auto h = tensor::full(dtype::f16, {3}, first ? 2048 : 1);  // in f16, 2048 + 1 is 2048
  co_await g.all_reduce(h);
  CHECK(static_cast<float>(h.item<float16>(2)) == 2052);
  auto b = tensor::full(dtype::bf16, {3}, first ? 256 : 1);
  co_await g.all_reduce(b);
  CHECK(static_cast<float>(b.item<bfloat16>(0)) == 260);
  auto nan = tensor::full(dtype::f32, {2}, w.rank().value());
  if (w.rank().value() == 2) nan.data<float>()[1] = std::numeric_limits<float>::quiet_NaN();
  co_await g.all_reduce(nan, reduction::max);
  CHECK(nan.item<float>(0) == 4);
  CHECK(std::isnan(nan.item<float>(1)));
  auto wraps = tensor::full(dtype::u8, {1}, 100);
  co_await g.all_reduce(wraps);
  CHECK(wraps.item<std::uint8_t>(0) == (500 & 255));
}

asio::awaitable<void> disagreements(world w) {
  auto const g = w.group();
  bool const odd = w.rank().value() == 1;
  auto const how = odd ? reduction::max : reduction::sum;
  auto const e = co_await ended(g.all_reduce(tensor::zeros(dtype::f32, {4}), how));
  CHECK(e.code == errc::mismatch);
  CHECK_MESSAGE(e.tells("the reductions differ"), e.story);
  CHECK_MESSAGE(e.tells("rank 1 all_reduce f32[4] max"), e.story);
  auto const long_one = tensor::full(dtype::f32, {odd ? 409598 : 409600}, 1);
  auto const sizes = co_await ended(g.all_reduce(long_one));
  CHECK(sizes.code == errc::mismatch);
  CHECK_MESSAGE(sizes.tells("f32[409598]"), sizes.story);
  CHECK(long_one.item<float>(0) == 1);  // nothing was moved
  auto t = tensor::zeros(dtype::f32, {8});
  auto const overlap = co_await ended(g.all_reduce(t.slice(0, 0, 4), t.slice(0, 2, 4)));
  CHECK(overlap.code == errc::invalid_argument);
  auto scalar = tensor::full(dtype::f64, {}, w.rank().value());
  co_await g.all_reduce(scalar);
  CHECK(scalar.item<double>() == 3);
  auto none = tensor::zeros(dtype::f32, {0, 3});
  co_await g.all_reduce(none);
  CHECK(none.shape() == shape(0, 3));
}

template <class... T>
void every_dtype() {
  for (int n : {1, 2, 3, 5}) (run_ranks(n, every_reduction<T>), ...);
}

}  // namespace

TEST_CASE(
    "every reduction of every dtype is right where defined and refused on all ranks elsewhere") {
  every_dtype<bool, std::uint8_t, std::int8_t, std::int16_t, std::uint16_t, std::int32_t,
              std::uint32_t, std::int64_t, std::uint64_t, float16, bfloat16, float, double,
              std::complex<float>, std::complex<double>, float8_e4m3, float8_e5m2>();
}
TEST_CASE("reductions work in place, on transposed and strided tensors, whole and in parts") {
  for (int n : {1, 2, 3, 5})
    for (auto const in : {form::contiguous, form::transposed})
      for (auto const out : {form::contiguous, form::strided})
        run_ranks_everywhere(n, [=](world w) { return forms(w.group(), shape(3, 5), in, out); });
  run_ranks_everywhere(3, [](world w) {
    return forms(w.group(), shape(117, 501), form::transposed, form::contiguous);
  });
}
TEST_CASE("an all_reduce is the same bit for bit on all ranks and from run to run") {
  std::vector<tensor> first(5);
  std::vector<tensor> second(5);
  run_ranks(5, [&](world w) { return same_bits(w, first); });
  run_ranks_on_pool(5, [&](world w) { return same_bits(w, second); });
  for (auto const* results : {&first, &second})
    for (auto const& t : *results) CHECK(equal(t, first[0]));
}
TEST_CASE("halves accumulate in f32, a NaN wins, unsigned integers wrap") {
  run_ranks_everywhere(5, halves);
}
TEST_CASE("other reductions, sizes or overlapping tensors are refused before anything moves") {
  run_ranks_everywhere(3, disagreements);
}
