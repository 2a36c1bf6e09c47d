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

// Each rank has sockets and a progress thread of its own; their programs share one thread.
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

// Runs in one world, one after the other; the first, which opens connections, apart.
struct runs {
  double first = 0;
  std::vector<double> took;
  std::vector<double> bubbles;
  std::vector<double> whole;  // with the proof, the prediction and the ranks' agreement
};

asio::awaitable<void> run_rounds(world w, schedule const& plan, double a_unit, runs& seen) {
  for (int i = 0; i <= rounds; ++i) {
    co_await w.group().barrier();
    double const from = now();
    auto running = run_schedule(w.group(), plan, actions_of(a_unit));
    auto const report = co_await std::move(running);
    double const to = now();
    if (w.rank() != world_rank(0)) continue;
    if (i == 0) seen.first = report.makespan;
    if (i == 0) continue;
    seen.took.push_back(report.makespan);
    seen.bubbles.push_back(report.bubble);
    seen.whole.push_back(to - from);
  }
}

runs run_on(engine const& e, schedule const& plan, double a_unit) {
  runs seen;
  e.run([&](world w) { return run_rounds(std::move(w), plan, a_unit, seen); });
  return seen;
}

asio::awaitable<void> stream_rounds(world w, int requests, double a_unit, runs& seen) {
  auto const stage = [a_unit](stage_request const&, tensor x) {
    return rest_and_give(a_unit, std::move(x));
  };
  for (int i = 0; i <= rounds; ++i) {
    pipeline pipe(w.group(), stage, pipeline_options().number(i));
    co_await w.group().barrier();
    double const from = now();
    std::vector<work<tensor>> results;
    if (w.rank() == world_rank(0))
      for (int n = 0; n < requests; ++n)
        results.push_back(pipe.submit(tensor::full(dtype::f32, {1}, n)));
    pipe.close();
    co_await pipe.run();
    double const to = now();
    if (w.rank() != world_rank(0)) continue;
    if (i == 0) seen.first = to - from;
    if (i > 0) seen.took.push_back(to - from);
  }
}

// A stream of requests, one unit in each stage: from the first's start until all know the end.
runs stream_on(engine const& e, int requests, double a_unit) {
  runs seen;
  e.run([&](world w) { return stream_rounds(std::move(w), requests, a_unit, seen); });
  return seen;
}

void print_row(std::string const& name, double predicted, runs const& r) {
  auto const off = [predicted](double t) { return 100 * (t / predicted - 1); };
  std::printf("  %-18s %7.1f ms %7.1f ms %+6.1f %% %+6.1f %% %+6.1f %%", name.c_str(),
              predicted * 1e3, median(r.took) * 1e3, off(median(r.took)),
              off(std::ranges::max(r.took)), off(r.first));
}

void compare_with_prediction(engine const& e) {
  std::printf("%s, %d stages x %d microbatches, %.0f ms a unit, %d runs\n", e.name, ranks,
              microbatches, unit * 1e3, rounds);
  std::printf("  %-18s %10s %10s %8s %8s %8s  bubble\n", "schedule", "predicted", "median", "",
              "worst", "first");
  for (auto const name : schedule_names()) {
    auto const plan = make_schedule(name, ranks, microbatches);
    auto const foretold = predict(with_communication(plan));
    auto const r = run_on(e, plan, unit);
    print_row(std::string(name), foretold.makespan * unit, r);
    std::printf("  %4.1f %% %4.1f %%\n", 100 * foretold.bubble, 100 * median(r.bubbles));
  }
  auto const r = stream_on(e, microbatches, unit);
  print_row("stream of requests", (microbatches + ranks - 1) * unit, r);
  std::printf("\n");
}

void measure_overhead(engine const& e) {
  std::printf("%s, %d stages x %d microbatches that do nothing, median of %d runs\n", e.name, ranks,
              microbatches_of_overhead, rounds);
  std::printf("  %-18s %22s %20s %20s\n", "schedule", "us an F, B, I or W", "or an action of any",
              "with its proof");
  for (auto const name : schedule_names()) {
    auto const plan = make_schedule(name, ranks, microbatches_of_overhead);
    auto const all = static_cast<double>(with_communication(plan).size());
    auto const computing = static_cast<double>(plan.size());
    auto const r = run_on(e, plan, 0);
    std::printf("  %-18s %22.2f %20.2f %20.2f\n", std::string(name).c_str(),
                median(r.took) * 1e6 / computing, median(r.took) * 1e6 / all,
                median(r.whole) * 1e6 / computing);
  }
  auto const r = stream_on(e, microbatches_of_overhead, 0);
  std::printf("  %-18s %22.2f   a call of a stage function\n", "stream of requests",
              median(r.took) * 1e6 / (microbatches_of_overhead * ranks));
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
