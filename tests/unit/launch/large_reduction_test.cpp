// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Reductions around the size from which ranks of the host engine reduce slices: the same bits as
// between ranks of the local engine.
#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <hocket/group/process_group.hpp>
#include <hocket/launch/join.hpp>
#include <hocket/tensor/copy.hpp>
#include <hocket/tensor/half.hpp>
#include <ranks.hpp>
#include <string>
#include <vector>

using namespace hocket;
using namespace hocket::test;
namespace asio = boost::asio;

namespace {

// Sums of these depend on their order.
template <class T>
tensor uneven(int rank, std::int64_t n) {
  tensor t = tensor::empty(dtype_of<T>, shape{n});
  for (std::int64_t i = 0; i < n; ++i) {
    auto const v = static_cast<float>((i * 7919 + rank * 104729) % 1009) / 7.0F;
    t.data<T>()[i] = T(rank % 2 == 0 ? v : -v * 100.0F);
  }
  return t;
}

enum class form { out_of_place, in_place, apart, root, scattered };

template <class T>
asio::awaitable<tensor> reduced(process_group g, std::int64_t n, reduce_by how, form f) {
  tensor in = uneven<T>(g.rank().value(), n);
  tensor out = tensor::zeros(in.dtype(), shape{n});
  if (f == form::in_place) out = in;
  if (f == form::apart) out = tensor::zeros(in.dtype(), shape{n, 2}).select(1, 0);
  if (f == form::scattered) {
    auto const plan = make_split_plan(layout::balanced, n, g.size(), 0);
    tensor const part = split_view(out, plan, g.rank().value());
    auto w = g.reduce_scatter_v(part, in, plan, how);
    co_await std::move(w);
    co_return part.clone();
  }
  if (f == form::root) {
    auto w = g.reduce(out, in, how, group_rank(g.size() - 1));
    co_await std::move(w);
    co_return g.rank().value() == g.size() - 1 ? out.clone() : tensor();
  }
  auto w = g.all_reduce(out, in, how);
  co_await std::move(w);
  co_return out.clone();
}

// What every rank of the local engine gets.
template <class T>
std::vector<tensor> local_results(int n, std::int64_t count, reduce_by how, form f) {
  std::vector<tensor> all(static_cast<std::size_t>(n));
  run_ranks(n, [&](world w) -> asio::awaitable<void> {
    auto const rank = static_cast<std::size_t>(w.rank().value());
    all[rank] = co_await reduced<T>(w.group(), count, how, f);
  });
  return all;
}

struct request_of_test {
  std::int64_t count;
  reduction how;
  form as;
};

template <class T>
asio::awaitable<void> compare(process_group g, std::vector<request_of_test> const& all,
                              std::vector<std::vector<tensor>> const& expected) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const got = co_await reduced<T>(g, all[i].count, all[i].how, all[i].as);
    auto const& right = expected[i][static_cast<std::size_t>(g.rank().value())];
    bool const same = equal(got, right);
    INFO("rank ", g.rank().value(), " of ", g.size(), ", ", all[i].count, " elements, form ",
         static_cast<int>(all[i].as));
    CHECK(same);
  }
}

template <class T>
asio::awaitable<void> rank_of_job(asio::any_io_executor ex, launch_options options,
                                  std::vector<request_of_test> const& all,
                                  std::vector<std::vector<tensor>> const& expected) {
  auto joining = join(ex, options);
  auto const w = co_await std::move(joining);
  co_await compare<T>(w.group(), all, expected);
  auto together = w.group().barrier();
  co_await std::move(together);
}

template <class T>
void compare_engines(int n) {
  std::vector<request_of_test> all;
  std::vector<std::vector<tensor>> expected;
  auto const edge = std::int64_t{128 * 1024} / std::int64_t{sizeof(T)};
  for (std::int64_t const count : {edge - 1, edge, edge + 1, 3 * edge + 5, 9 * edge + 77})
    for (auto const as :
         {form::out_of_place, form::in_place, form::apart, form::root, form::scattered})
      all.push_back({count, count % 2 == 0 ? reduction::sum : reduction::average, as});
  for (auto const& r : all) expected.push_back(local_results<T>(n, r.count, r.how, r.as));

  static std::atomic<int> jobs{0};
  auto const job = "reduction " + std::to_string(::getpid()) + " " + std::to_string(jobs++);
  asio::io_context ctx;
  int ended = 0;
  for (int r = 0; r < n; ++r) {
    auto const options =
        launch_options().rank(r).size(n).local_rank(r).local_size(n).job(job).engine(
            engine_choice::host);
    asio::co_spawn(ctx, rank_of_job<T>(ctx.get_executor(), options, all, expected),
                   [&ended](std::exception_ptr e) {
                     ++ended;
                     if (e) std::rethrow_exception(e);
                   });
  }
  ctx.run_for(std::chrono::seconds(60));
  CHECK(ended == n);
}

}  // namespace

TEST_CASE("large reductions of f32 have the bits of the local engine, by 2 to 5 ranks") {
  for (int n = 2; n <= 5; ++n) compare_engines<float>(n);
}

TEST_CASE("large reductions of bf16 have the bits of the local engine") {
  compare_engines<bfloat16>(3);
}

TEST_CASE("large reductions whose bytes come in frames have the bits of the local engine") {
  ::setenv("HOCKET_HOST_READ", "off", 1);
  for (int n = 2; n <= 4; ++n) compare_engines<float>(n);
  ::unsetenv("HOCKET_HOST_READ");
}
