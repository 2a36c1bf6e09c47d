// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Three stages. First a stream of requests of different shapes, one of which is cancelled while a
// later stage works on it; then a training step whose schedule is proved before it runs.
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <hocket/hocket.hpp>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using hocket::tensor;

namespace {

constexpr int requests = 5;
constexpr std::uint64_t unwanted = 3;  // the id of the request that is cancelled
constexpr int microbatches = 4;

asio::awaitable<void> sleep_for(std::chrono::milliseconds t) {
  asio::steady_timer timer(co_await asio::this_coro::executor, t);
  co_await timer.async_wait(asio::use_awaitable);
}

tensor plus(tensor const& x, int n) {
  auto y = x.clone();
  for (std::int64_t i = 0; i < y.numel(); ++i) y.data<float>()[i] += static_cast<float>(n);
  return y;
}

// [stream]
// One stage's share of one request: y = x + (stage + 1). The function of stage 1 takes its time.
asio::awaitable<tensor> stage(hocket::stage_request r, tensor x) {
  auto const pause = r.id() == unwanted ? 10000ms : 5ms;
  if (r.stage() == 1) co_await sleep_for(pause);
  co_return plus(x, r.stage() + 1);
}

// Requests enter at the first stage, and it gets the results.
asio::awaitable<void> client(hocket::pipeline& pipe) {
  std::vector<hocket::work<tensor>> results;
  for (int i = 1; i <= requests; ++i)  // i rows
    results.push_back(pipe.submit(tensor::full(hocket::dtype::f32, {i, 2}, 10 * i)));
  pipe.close();
  co_await hocket::work(results[0]);
  co_await hocket::work(results[1]);  // now the third is in stage 1, or on its way
  results[2].get_canceller().cancel();
  for (int i = 1; i <= requests; ++i) {
    try {
      auto y = co_await std::move(results[static_cast<std::size_t>(i - 1)]);
      std::printf("request %d: %s of %.0f\n", i, to_string(y.shape()).c_str(),
                  static_cast<double>(y.item<float>(i - 1, 1)));
    } catch (hocket::error const& e) {
      std::printf("request %d, %s: %s\n", i, e.code().message().c_str(), e.what());
    }
  }
}

asio::awaitable<void> stream_requests(hocket::world w) {
  hocket::pipeline pipe(w.group(), stage);
  hocket::task_group clients(w.get_executor());
  if (w.rank() == hocket::world_rank(0)) clients.spawn(client(pipe));
  co_await pipe.run();  // until it is closed and empty
  co_await clients.join();
}
// [stream]

asio::awaitable<tensor> work_for(std::chrono::milliseconds t, tensor y) {
  co_await sleep_for(t);
  co_return y;
}

// [schedule]
// One training step: forwards and backwards in the order of a known schedule.
asio::awaitable<void> train(hocket::world w) {
  auto plan = hocket::make_schedule("1f1b", w.size(), microbatches);
  hocket::stage_actions actions;
  actions.forward([](int stage, int m, tensor x) {  // the first stage has the input
    auto y = stage == 0 ? tensor::full(hocket::dtype::f32, {m + 1, 2}, m) : plus(x, stage);
    return work_for(5ms, y);
  });
  actions.backward([](int, int m, tensor gradient) {  // the last stage has the loss
    if (!gradient.defined()) gradient = tensor::full(hocket::dtype::f32, {m + 1, 2}, 1);
    return work_for(10ms, gradient);
  });
  auto report = co_await hocket::run_schedule(w.group(), plan, actions);
  if (w.rank() != hocket::world_rank(w.size() - 1)) co_return;
  for (int m = 0; m < microbatches; ++m)
    std::printf("microbatch %d: %s\n", m,
                to_string(report.outputs[static_cast<std::size_t>(m)].shape()).c_str());
  std::printf("makespan %.0f units, %.0f ms; bubble %.0f %%, measured %.0f %%\n",
              report.predicted.makespan, report.makespan * 1e3, report.predicted.bubble * 100,
              report.bubble * 100);
}
// [schedule]

asio::awaitable<void> rank_main(hocket::world w) {
  co_await stream_requests(w);
  co_await train(w);
}

}  // namespace

int main() {
  asio::io_context ctx;
  hocket::local_world ranks(ctx.get_executor(), 3);
  ranks.spawn(rank_main);
  ctx.run();
  ranks.rethrow();
}
