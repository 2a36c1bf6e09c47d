// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <algorithm>
#include <hocket/async/detail/timer_queue.hpp>
#include <hocket/async/seeded_context.hpp>

namespace hocket {

seeded_context::seeded_context(std::uint64_t seed)
    : seed_(seed), generator_(seed), runtime_(runtime_options().clock(clock_).thread(false)) {}

seeded_context::~seeded_context() {
  shutdown();
  sleeps_.clear();
  while (!ready_.empty()) std::exchange(ready_, {});  // destroying one may queue another
  destroy();
}

work<> seeded_context::sleep(clock::duration d, std::source_location site) {
  promise<> p(get_executor(), site);
  auto handle = p.get_work();
  sleeps_.emplace(clock_.now() + d, std::move(p));
  return handle;
}

std::unique_ptr<seeded_context::ready> seeded_context::draw() {
  auto const i = static_cast<std::size_t>(generator_() % ready_.size());
  interleaving_ = (interleaving_ ^ i) * 0x100000001b3u;
  std::swap(ready_[i], ready_.back());
  auto drawn = std::move(ready_.back());
  ready_.pop_back();
  return drawn;
}

bool seeded_context::pass_time() {
  auto next = runtime_.timers().next();
  if (!sleeps_.empty())
    next = std::min(next.value_or(sleeps_.begin()->first), sleeps_.begin()->first);
  if (!next) return false;
  if (*next > clock_.now()) clock_.advance(*next - clock_.now());
  while (!sleeps_.empty() && sleeps_.begin()->first <= clock_.now()) {
    auto p = std::move(sleeps_.begin()->second);
    sleeps_.erase(sleeps_.begin());
    p.set();
  }
  while (runtime_.poll()) {
  }
  return true;
}

std::size_t seeded_context::run() {
  struct running {
    std::atomic<std::thread::id>& runner;
    std::thread::id const before;
    explicit running(std::atomic<std::thread::id>& r)
        : runner(r), before(r.exchange(std::this_thread::get_id())) {}
    ~running() { runner.store(before); }
  } const mark(runner_);
  std::size_t count = 0;
  for (;;) {
    while (!ready_.empty()) {
      draw()->run();
      ++count;
    }
    while (runtime_.poll()) {
    }
    if (ready_.empty() && !pass_time()) return count;
  }
}

}  // namespace hocket
