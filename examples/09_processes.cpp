// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Each process is one rank: hocket run -n 3 -- 09_processes. Under torchrun, mpirun or srun, too.
// Started alone it is a world of one.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <hocket/hocket.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using hocket::group_rank;
using hocket::tensor;

namespace {

struct greeting {
  std::string text;
  std::vector<std::int32_t> numbers;
};

template <class Visitor>
void hocket_describe(Visitor& v, greeting& g) {
  v(g.text, "text");
  v(g.numbers, "numbers");
}

// The last rank comes late; the others wait for 50 ms only, and are told for whom.
asio::awaitable<void> meet_late(hocket::world w) {
  if (w.rank().value() == w.size() - 1) {
    asio::steady_timer nap(w.get_executor(), 300ms);
    co_await nap.async_wait(asio::use_awaitable);
  }
  auto const soon = hocket::op_options().deadline(50ms);
  auto met = w.group().barrier(soon);
  try {
    co_await hocket::work(met);
  } catch (hocket::error const& e) {
    std::printf("rank %d, %s: %s\n", w.rank().value(), e.code().message().c_str(), e.what());
  }
  co_await met.released();  // the deadline ended the wait, not the barrier
}

// [join]
asio::awaitable<void> rank_main() {
  auto const ex = co_await asio::this_coro::executor;
  auto w = co_await hocket::join(ex);  // its place comes from the launcher's variables
  auto const g = w.group();
  int const me = w.rank().value();

  auto sum = tensor::full(hocket::dtype::i64, {1}, me + 1);
  co_await g.all_reduce(sum);

  std::optional<greeting> mine;
  if (me == 0) mine = greeting{"from process 0", {1, 2, 3}};
  auto const heard = co_await g.broadcast_object(std::move(mine), group_rank(0));
  std::printf("rank %d of %d: the sum is %lld, and I heard \"%s\" with %zu numbers\n", me, w.size(),
              static_cast<long long>(sum.item<std::int64_t>(0)), heard.text.c_str(),
              heard.numbers.size());
  co_await meet_late(w);
}
// [join]

}  // namespace

int main() {
  asio::io_context ctx;
  int status = 0;
  asio::co_spawn(ctx, rank_main(), [&status](std::exception_ptr e) {
    try {
      if (e) std::rethrow_exception(e);
    } catch (std::exception const& failure) {
      std::fprintf(stderr, "%s\n", failure.what());
      status = 1;
    }
  });
  ctx.run();
  return status;
}
