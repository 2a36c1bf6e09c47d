// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Every known schedule, executed: the gradients and results of one process.
#include <doctest/doctest.h>

#include <hocket/parallel/model_parallel.hpp>
#include <hocket/pipeline/communication.hpp>
#include <hocket/pipeline/make_schedule.hpp>
#include <hocket/pipeline/run_schedule.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../parallel/programs.hpp"
#include "stage_math.hpp"

using namespace hocket;
using test::outcome;
using test::run_everywhere;
using test::stage_step;
namespace asio = boost::asio;

namespace {

// The last microbatch is smaller; sizes tell microbatches apart.
tensor input_of(int m, int count) {
  return tensor::arange(dtype::i64, {m + 1 == count ? 1 : 2 + m % 3, 3}, 100 * m + 7);
}

// A loss whose gradient is its input, say; further back 3 g + stage + the kept input.
tensor step_back(tensor const& g, tensor const& x, int stage) {
  auto y = stage_step(g, stage);
  for (std::int64_t i = 0; i < y.numel(); ++i)
    y.data<std::int64_t>()[i] += x.const_data<std::int64_t>()[i];
  return y;
}

// What the stages of one rank keep, and what came of it.
class rank_stages {
 public:
  rank_stages(int stages, int count) : stages_(stages), count_(count) {}

  asio::awaitable<tensor> forward(int s, int m, tensor x) {
    CHECK(x.defined() == (s > 0));
    if (s == 0) x = input_of(m, count_);
    CHECK(x.shape() == input_of(m, count_).shape());
    kept_[{s, m}] = x;
    co_return stage_step(x, s);
  }
  asio::awaitable<tensor> input_gradient(int s, int m, tensor g) {
    CHECK(g.defined() == (s + 1 < stages_));
    auto const x = kept_.at({s, m});
    if (s + 1 == stages_) g = stage_step(x, s);
    if (s == 0) first_[m] = step_back(g, x, s);
    left_[{s, m}] = 0;
    co_return step_back(g, x, s);
  }
  asio::awaitable<void> weights(int s, int m) {
    CHECK(left_.erase({s, m}) == 1);
    kept_.erase({s, m});
    co_return;
  }
  asio::awaitable<tensor> backward(int s, int m, tensor g) {
    auto both = input_gradient(s, m, std::move(g));
    auto y = co_await std::move(both);
    auto rest = weights(s, m);
    co_await std::move(rest);
    co_return y;
  }
  // The gradient at the first stage, of one process.
  tensor alone(int m) const {
    std::vector<tensor> xs{input_of(m, count_)};
    for (int s = 0; s + 1 < stages_; ++s) xs.push_back(stage_step(xs.back(), s));
    auto g = stage_step(xs.back(), stages_ - 1);
    for (int s = stages_; s-- > 0;) g = step_back(g, xs[static_cast<std::size_t>(s)], s);
    return g;
  }
  stage_actions actions() {
    stage_actions a;
    a.forward([this](int s, int m, tensor x) { return forward(s, m, std::move(x)); });
    a.backward([this](int s, int m, tensor g) { return backward(s, m, std::move(g)); });
    a.backward_input([this](int s, int m, tensor g) { return input_gradient(s, m, std::move(g)); });
    a.backward_weight([this](int s, int m) { return weights(s, m); });
    return a;
  }
  void check_ended(schedule const& plan, int rank) const {
    if (!plan.has_backward()) return;
    CHECK(kept_.empty());
    CHECK(left_.empty());
    CHECK(first_.size() == (plan.rank_of(0) == rank ? static_cast<std::size_t>(count_) : 0));
    for (auto const& [m, g] : first_) CHECK(equal(g, alone(m)));
  }

 private:
  int const stages_;
  int const count_;
  std::map<std::pair<int, int>, tensor> kept_;
  std::map<std::pair<int, int>, int> left_;
  std::map<int, tensor> first_;
};

asio::awaitable<void> run_one(world w, std::string name, int count) {
  auto const plan = make_schedule(name, w.size(), count);
  rank_stages mine(plan.stages(), count);
  auto running = run_schedule(w.group(), plan, mine.actions());
  auto const report = co_await std::move(running);
  mine.check_ended(plan, w.rank().value());
  bool const has_last = plan.rank_of(plan.stages() - 1) == w.rank().value();
  CHECK(report.outputs.size() == (has_last ? static_cast<std::size_t>(count) : 0));
  for (int m = 0; m < static_cast<int>(report.outputs.size()); ++m)
    CHECK(equal(report.outputs[static_cast<std::size_t>(m)],
                test::all_stages(input_of(m, count), plan.stages())));
  CHECK(report.busy.size() == static_cast<std::size_t>(w.size()));
  CHECK(report.bubble >= 0);
  CHECK(report.bubble <= 1);
  CHECK(report.predicted.bubble == predict(plan).bubble);
  auto const own = with_communication(plan).actions(w.rank().value()).size();
  CHECK(report.timeline.size() == own);
}

asio::awaitable<void> every_schedule(world w) {
  for (auto const name : schedule_names())
    for (int const count : {1, 3, 4, 9}) co_await run_one(w, std::string(name), count);
}

}  // namespace

TEST_CASE("every known schedule gives the results and gradients of one process") {
  for (int n : {1, 2, 3, 4}) run_everywhere(n, every_schedule);
}
