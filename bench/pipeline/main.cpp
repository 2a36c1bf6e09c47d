// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Does a schedule take as long as its prediction says, and what does an action cost by itself? The
// stages sleep, so that cores do not matter; then they do nothing, and what is left is the
// executor. Yardsticks: the prediction, and timers that nobody else is in the way of.
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <hocket/hocket.hpp>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace hocket;

namespace {

constexpr int ranks = 4;
constexpr int microbatches = 16;
constexpr int microbatches_of_overhead = 512;
constexpr int rounds = 5;
constexpr double unit = 5e-3;  // seconds

using rank_program = std::function<asio::awaitable<void>(world)>;
using seconds = std::chrono::duration<double>;

double now() { return seconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double median(std::vector<double> v) {
  std::ranges::sort(v);
  return v[v.size() / 2];
}

void run_local(rank_program const& rank_main) {
  asio::io_context ctx(1);
  local_world world_of(ctx.get_executor(), ranks);
  world_of.spawn(rank_main);
  ctx.run();
  world_of.rethrow();
}

asio::awaitable<void> join_and_run(launch_options options, rank_program const& rank_main) {
  auto ex = co_await asio::this_coro::executor;
  auto joining = join(ex, options);
  auto w = co_await std::move(joining);
  auto program = rank_main(std::move(w));
  co_await std::move(program);
}

// Each rank has an engine and sockets of its own, on one thread.
void run_host(rank_program const& rank_main) {
  static int jobs = 0;
  auto const job = "bench " + std::to_string(::getpid()) + " " + std::to_string(jobs++);
  asio::io_context ctx(1);
  std::exception_ptr failure;
  for (int r = 0; r < ranks; ++r) {
    auto const options = launch_options().rank(r).size(ranks).local_rank(r).local_size(ranks);
    asio::co_spawn(
        ctx, join_and_run(launch_options(options).job(job).engine(engine_choice::host), rank_main),
        [&](std::exception_ptr e) {
          if (e && !failure) failure = e;
        });
  }
  ctx.run();
  if (failure) std::rethrow_exception(failure);
}

struct engine {
  char const* name;
  void (*run)(rank_program const&);
};
constexpr engine engines[] = {{"local", run_local}, {"host", run_host}};

asio::awaitable<void> rest(double units) {
  if (units == 0) co_return;
  auto const d = std::chrono::duration_cast<clock::duration>(seconds(units));
  asio::steady_timer timer(co_await asio::this_coro::executor, d);
  co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<tensor> rest_and_give(double units, tensor x) {
  auto resting = rest(units);
  co_await std::move(resting);
  co_return x;
}

// What a stage does, at so many seconds a unit of the costs F = I = W = 1, B = 2.
stage_actions actions_of(double a_unit) {
  auto const x = tensor::full(dtype::f32, {1}, 1);
  stage_actions a;
  a.forward([=](int, int, tensor) { return rest_and_give(a_unit, x); });
  a.backward([=](int, int, tensor) { return rest_and_give(2 * a_unit, x); });
  a.backward_input([=](int, int, tensor) { return rest_and_give(a_unit, x); });
  a.backward_weight([=](int, int) { return rest(a_unit); });
  return a;
}

schedule_report run_once(engine const& e, schedule const& plan, double a_unit) {
  schedule_report seen;
  e.run([&](world w) -> asio::awaitable<void> {
    auto running = run_schedule(w.group(), plan, actions_of(a_unit));
    auto report = co_await std::move(running);
    if (w.rank() == world_rank(0)) seen = std::move(report);
  });
  return seen;
}

// A stream of requests, each sleeping for one unit a stage; from the first start to the last end.
double stream_once(engine const& e, int requests, double a_unit) {
  double from = 0;
  double to = 0;
  e.run([&](world w) -> asio::awaitable<void> {
    pipeline pipe(w.group(),
                  [&](stage_request, tensor x) { return rest_and_give(a_unit, std::move(x)); });
    co_await w.group().barrier();
    if (w.rank() == world_rank(0)) {
      from = now();
      auto const x = tensor::full(dtype::f32, {1}, 1);
      for (int i = 0; i < requests; ++i) pipe.submit(x);
    }
    pipe.close();
    co_await pipe.run();
    to = std::max(to, now());
  });
  return to - from;
}

void print_row(std::string const& name, double predicted, std::vector<double> const& took) {
  double const m = median(took);
  auto const worst = std::ranges::max(took);
  std::printf("  %-18s %9.1f ms %9.1f ms %+6.1f %% (worst %+6.1f %%)", name.c_str(),
              predicted * 1e3, m * 1e3, 100 * (m / predicted - 1), 100 * (worst / predicted - 1));
}

void compare_with_prediction(engine const& e) {
  std::printf("%s, %d stages x %d microbatches, %.0f ms a unit, median of %d runs\n", e.name, ranks,
              microbatches, unit * 1e3, rounds);
  std::printf("  %-18s %12s %12s %8s %17s   bubble: predicted, measured\n", "schedule", "predicted",
              "measured", "", "");
  for (auto const name : schedule_names()) {
    auto const plan = make_schedule(name, ranks, microbatches);
    auto const foretold = predict(with_communication(plan));
    std::vector<double> took;
    std::vector<double> bubbles;
    for (int i = 0; i < rounds; ++i) {
      auto const report = run_once(e, plan, unit);
      took.push_back(report.makespan);
      bubbles.push_back(report.bubble);
    }
    print_row(std::string(name), foretold.makespan * unit, took);
    std::printf("   %5.1f %% %5.1f %%\n", 100 * foretold.bubble, 100 * median(bubbles));
  }
  std::vector<double> took;
  for (int i = 0; i < rounds; ++i) took.push_back(stream_once(e, microbatches, unit));
  print_row("stream of requests", (microbatches + ranks - 1) * unit, took);
  std::printf("\n");
}

void measure_overhead(engine const& e) {
  std::printf("%s, %d stages x %d microbatches that do nothing, one thread, median of %d runs\n",
              e.name, ranks, microbatches_of_overhead, rounds);
  std::printf("  %-18s %22s %30s\n", "schedule", "us an F, B, I or W",
              "us an entry, with messages");
  for (auto const name : schedule_names()) {
    auto const plan = make_schedule(name, ranks, microbatches_of_overhead);
    auto const entries = with_communication(plan).size();
    std::vector<double> took;
    for (int i = 0; i < rounds; ++i) took.push_back(run_once(e, plan, 0).makespan);
    double const us = median(took) * 1e6;
    std::printf("  %-18s %22.2f %30.2f\n", std::string(name).c_str(),
                us / static_cast<double>(plan.size()), us / static_cast<double>(entries));
  }
  std::vector<double> took;
  for (int i = 0; i < rounds; ++i) took.push_back(stream_once(e, microbatches_of_overhead, 0));
  std::printf("  %-18s %22.2f   a call of a stage function\n", "stream of requests",
              median(took) * 1e6 / (microbatches_of_overhead * ranks));
}

// How late timers are that follow one another on an idle thread.
void measure_timers() {
  constexpr int timers = 60;
  asio::io_context ctx(1);
  double took = 0;
  auto chain = [&]() -> asio::awaitable<void> {
    double const from = now();
    for (int i = 0; i < timers; ++i) {
      auto resting = rest(unit);
      co_await std::move(resting);
    }
    took = now() - from;
  };
  asio::co_spawn(ctx, chain(), asio::detached);
  ctx.run();
  std::printf("yardstick: %d timers of %.0f ms in a row take %.1f ms, %+.1f %%\n", timers,
              unit * 1e3, took * 1e3, 100 * (took / (timers * unit) - 1));
}

}  // namespace

int main() {
  set_log_threshold(log_level::error);
  measure_timers();
  for (auto const& e : engines) compare_with_prediction(e);
  for (auto const& e : engines) measure_overhead(e);
  measure_timers();
}
