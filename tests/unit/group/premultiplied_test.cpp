// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <complex>
#include <hocket/group/world.hpp>
#include <hocket/tensor/half.hpp>
#include <ranks.hpp>
#include <string>

#include "ending.hpp"

using namespace hocket;
using namespace hocket::test;
namespace asio = boost::asio;

namespace {

// Powers of two and small numbers: every product and sum is exact in every type.
double factor_of(int rank) { return rank % 2 == 0 ? 0.25 * (rank + 1) : -2.0; }
int value_at(int rank, std::int64_t i) { return static_cast<int>((4 * rank + 3 * i) % 8); }

template <class T>
tensor numbers(int rank, shape const& extents) {
  tensor t = tensor::empty(dtype_of<T>, extents);
  for (std::int64_t i = 0; i < t.numel(); ++i)
    t.data<T>()[i] = T(static_cast<float>(value_at(rank, i)));
  return t;
}

double expected(int n, std::int64_t i) {
  double all = 0;
  for (int r = 0; r < n; ++r) all += factor_of(r) * value_at(r, i);
  return all;
}

template <class T>
double as_double(T const& x) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    return x.imag() == 0 ? static_cast<double>(x.real()) : -1e9;
  } else if constexpr (std::is_same_v<T, double>) {
    return x;
  } else {
    return static_cast<double>(static_cast<float>(x));
  }
}

template <class T>
int wrong(tensor const& t, int n, std::int64_t first) {
  int count = 0;
  for (std::int64_t i = 0; i < t.numel(); ++i)
    count += as_double(t.contiguous().const_data<T>()[i]) != expected(n, first + i);
  return count;
}

template <class T>
asio::awaitable<void> every_call(process_group g) {
  int const n = g.size();
  int const me = g.rank().value();
  auto const how = premultiplied_sum(factor_of(me));
  shape const whole(3 * n, 7);
  auto t = numbers<T>(me, whole);
  co_await g.all_reduce(t, how);
  CHECK(wrong<T>(t, n, 0) == 0);
  auto const in = numbers<T>(me, whole);
  auto at_root = me == n - 1 ? laid_out(form::strided, dtype_of<T>, whole) : tensor();
  co_await g.reduce(at_root, in, how, group_rank(n - 1));
  if (me == n - 1) CHECK(wrong<T>(at_root, n, 0) == 0);
  auto part = tensor::empty(dtype_of<T>, {3, 7});
  co_await g.reduce_scatter(part, in, how);
  CHECK(wrong<T>(part, n, std::int64_t{21} * me) == 0);
}

asio::awaitable<void> every_dtype(world w) {
  auto const g = w.group();
  co_await every_call<float>(g);
  co_await every_call<double>(g);
  co_await every_call<float16>(g);
  co_await every_call<bfloat16>(g);
  co_await every_call<std::complex<float>>(g);
  co_await every_call<std::complex<double>>(g);
}

asio::awaitable<void> without_rank_0(world w) {
  if (w.rank().value() == 0) co_return;
  auto const g = co_await make_group(w, rank_group::of(4, 2, 1, 3));
  co_await every_call<float>(g);
}

asio::awaitable<void> refusals(world w) {
  auto const g = w.group();
  bool const odd = g.rank().value() == 2;
  auto const ints =
      co_await ended(g.all_reduce(tensor::zeros(dtype::i32, {2}), premultiplied_sum(2)));
  CHECK(ints.code == errc::unsupported);
  CHECK_MESSAGE(ints.tells("i32 (premultiplied_sum)"), ints.story);
  auto const how = odd ? reduce_by(reduction::sum) : premultiplied_sum(0.5);
  auto const e = co_await ended(g.all_reduce(tensor::zeros(dtype::f32, {2}), how));
  CHECK(e.code == errc::mismatch);
  CHECK_MESSAGE(e.tells("the reductions differ"), e.story);
  CHECK_MESSAGE(e.tells("all_reduce f32[2] premultiplied_sum by 0.5"), e.story);
}

// f16 has 11 bits: a product rounded to them before the sum would lose the ones.
asio::awaitable<void> halves(world w) {
  auto const g = w.group();
  bool const first = g.rank().value() == 0;
  auto t = tensor::full(dtype::f16, {5}, first ? 1024 : 1);
  co_await g.all_reduce(t, premultiplied_sum(first ? 2.0 : 0.5));
  CHECK(static_cast<float>(t.item<float16>(4)) == 2050);
}

asio::awaitable<void> without_parallelism() {
  process_group const g;
  auto t = tensor::full(dtype::f32, {2, 3}, 8).transpose(0, 1);
  co_await g.all_reduce(t, premultiplied_sum(0.25));
  CHECK(t.item<float>(2, 1) == 2);
  auto out = tensor::empty(dtype::f32, {3, 2});
  co_await g.reduce(out, t, premultiplied_sum(-3), group_rank(0));
  CHECK(out.item<float>(1, 1) == -6);
  CHECK(t.item<float>(1, 1) == 2);
  auto const e = co_await ended(g.all_reduce(tensor::zeros(dtype::u8, {1}), premultiplied_sum(2)));
  CHECK(e.code == errc::unsupported);
}

}  // namespace

TEST_CASE("a premultiplied sum adds every rank's elements times that rank's own factor") {
  for (int n : {1, 2, 3, 5}) run_ranks_everywhere(n, every_dtype);
}
TEST_CASE("a premultiplied sum over a sub-group without rank 0 takes the members' factors") {
  run_ranks_everywhere(5, without_rank_0);
}
TEST_CASE("a premultiplied sum of integers is refused, and does not match a plain sum") {
  run_ranks_everywhere(3, refusals);
}
TEST_CASE("a premultiplied sum of halves is rounded once") { run_ranks_everywhere(5, halves); }
TEST_CASE("a disabled group multiplies, like a group of one") {
  run_ranks(1, [](world) { return without_parallelism(); });
}
