// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <hocket/async/detail/timer_queue.hpp>
#include <hocket/async/promise.hpp>
#include <hocket/async/runtime.hpp>
#include <hocket/error.hpp>
#include <thread>
#include <vector>

#include "async_support.hpp"

namespace asio = boost::asio;
using namespace hocket;
using namespace hocket_test;
using namespace std::chrono_literals;

namespace {

// Hands out tickets to those who ask for one; it has no descriptor, so they must wake the runtime.
class ticket_source final : public progress_source {
 public:
  bool progress() noexcept override {
    given.store(asked.load(std::memory_order_acquire), std::memory_order_release);
    return false;
  }
  std::atomic<long> asked{0};
  std::atomic<long> given{0};
};

// Counts what is written to its eventfd.
class event_source final : public progress_source {
 public:
  ~event_source() override { ::close(event); }
  bool progress() noexcept override {
    ++turns;
    eventfd_t more = 0;
    if (::eventfd_read(event, &more) == 0) sum += more;
    return false;
  }
  int wake_fd() const noexcept override { return event; }

  int const event = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  std::atomic<eventfd_t> sum{0};
  std::atomic<int> turns{0};
};

template <class Condition>
bool comes_true(Condition const& condition) {
  auto const end = std::chrono::steady_clock::now() + long_enough;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

std::chrono::nanoseconds processor_time() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

}  // namespace

TEST_CASE("no wake of eight threads is lost, however the thread falls asleep in between") {
  runtime rt;
  ticket_source source;
  rt.handle().attach(source);
  std::atomic<int> lost{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < rounds(3000); ++i) {
        long const mine = source.asked.fetch_add(1, std::memory_order_acq_rel) + 1;
        rt.handle().wake();
        if (!comes_true([&] { return source.given.load() >= mine; })) ++lost;
        if ((i + t) % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
  }
  threads.clear();
  CHECK(lost == 0);
  rt.handle().detach(source);
}

TEST_CASE("a wake between two turns of a thread that sleeps each time is not lost") {
  runtime rt;
  ticket_source source;
  rt.handle().attach(source);
  for (int i = 1; i <= rounds(20000); ++i) {
    source.asked.store(i, std::memory_order_release);
    rt.handle().wake();
    REQUIRE(comes_true([&] { return source.given.load() == i; }));
  }
  rt.handle().detach(source);
}

TEST_CASE("a readable descriptor of a source wakes the thread without a call to wake") {
  runtime rt;
  event_source first, second;
  rt.handle().attach(first);
  rt.handle().attach(second);
  for (eventfd_t i = 1; i <= 200; ++i) {
    event_source& source = i % 2 == 0 ? first : second;
    ::eventfd_write(source.event, i);
    REQUIRE(comes_true([&] { return first.sum + second.sum == i * (i + 1) / 2; }));
  }
  rt.handle().detach(first);
  ::eventfd_write(second.event, 7);
  CHECK(comes_true([&] { return second.sum == 10000 + 7; }));
  rt.handle().detach(second);
}

TEST_CASE("a detached source's descriptor disturbs nobody") {
  runtime rt;
  event_source source;
  rt.handle().attach(source);
  rt.handle().detach(source);
  int const turns = source.turns;
  ::eventfd_write(source.event, 1);  // stays readable
  auto const start = processor_time();
  std::this_thread::sleep_for(100ms);
  CHECK(source.turns == turns);
  CHECK(processor_time() - start < 50ms);
}

TEST_CASE("an idle runtime sleeps, and so does one that waits for a deadline") {
  asio::io_context ctx;
  runtime rt;
  event_source source;
  rt.handle().attach(source);
  promise<int> p(ctx.get_executor());
  auto w = p.get_work();
  rt.timers().add(*w.state(), rt.clock().now() + 200ms);
  auto const start = processor_time();
  std::this_thread::sleep_for(100ms);
  CHECK(processor_time() - start < 50ms);
  CHECK(code_of(w) == errc::timed_out);
  rt.handle().detach(source);
}

TEST_CASE("a runtime without a thread is polled and opens no descriptor") {
  rlimit old{};
  ::getrlimit(RLIMIT_NOFILE, &old);
  event_source source;
  rlimit none = old;
  none.rlim_cur = 0;
  ::setrlimit(RLIMIT_NOFILE, &none);
  {
    runtime rt(runtime_options().thread(false));
    rt.handle().attach(source);
    ::eventfd_write(source.event, 3);
    rt.poll();
    rt.handle().detach(source);
    CHECK_THROWS_AS(runtime(), hocket::error);
  }
  ::setrlimit(RLIMIT_NOFILE, &old);
  CHECK(source.sum == 3);
}
