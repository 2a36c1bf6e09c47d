// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <array>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <hocket/async/promise.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "async_support.hpp"

namespace asio = boost::asio;
using boost::system::error_code;
using namespace hocket;
using namespace hocket_test;

namespace {

constexpr std::size_t batch = 256;

struct tally {
  std::atomic<int> outcomes{0};
  std::atomic<int> results{0};
  std::atomic<int> aborted{0};
  std::atomic<int> wrong{0};
};

// One wait whose outcome must come once, and be right.
class check_once {
 public:
  explicit check_once(tally& t) : tally_(&t) {}
  check_once(check_once&&) = default;
  check_once(check_once const& other) : tally_(other.tally_) {}
  void operator()(error_code e, int v) {
    bool const right = e ? e == operation_aborted() && v == 0 : v == 42;
    if (!right || std::exchange(called_, true)) ++tally_->wrong;
    ++(e ? tally_->aborted : tally_->results);
    ++tally_->outcomes;
  }

 private:
  tally* tally_;
  bool called_ = false;
};

void wait_for(std::atomic<int> const& n, int value) {
  while (n < value) std::this_thread::yield();
}

struct runners {
  asio::io_context ctx;
  asio::executor_work_guard<asio::io_context::executor_type> guard{ctx.get_executor()};
  std::thread first{[this] { ctx.run(); }};
  std::thread second{[this] { ctx.run(); }};
  ~runners() {
    guard.reset();
    first.join();
    second.join();
  }
};

}  // namespace

TEST_CASE("a canceller races with the result: every wait has one outcome") {
  tally t;
  int expected = 0;
  runners r;
  completer c;
  for (int round = 0; round * static_cast<int>(batch) < rounds(10'000); ++round) {
    for (std::size_t i = 0; i < batch; ++i) {
      promise<int> p(r.ctx.get_executor());
      auto w = p.get_work();
      auto const stop = w.get_canceller();
      w.async_wait(check_once(t));
      ++expected;
      c.set_later(std::move(p), 42);
      if (i % 8 == 0) std::this_thread::yield();
      if (i % 2 == 0) w.async_wait(check_once(t)), ++expected;
      stop.cancel();
    }
    wait_for(t.outcomes, expected);
  }
  CHECK(t.wrong == 0);
  CHECK(t.outcomes == expected);
  MESSAGE("results " << t.results.load() << ", aborted " << t.aborted.load());
}

TEST_CASE("slots emitted on their strand race with the result: every wait has one outcome") {
  tally t;
  int expected = 0;
  runners r;
  completer c;
  for (int round = 0; round * static_cast<int>(batch) < rounds(10'000); ++round) {
    auto const strand = asio::make_strand(r.ctx);
    auto const signals = std::make_shared<std::array<asio::cancellation_signal, batch>>();
    for (std::size_t i = 0; i < batch; ++i) {
      promise<int> p(r.ctx.get_executor());
      p.get_work().async_wait(asio::bind_executor(
          strand, asio::bind_cancellation_slot((*signals)[i].slot(), check_once(t))));
      ++expected;
      asio::post(strand, [signals, i] { (*signals)[i].emit(asio::cancellation_type::terminal); });
      c.set_later(std::move(p), 42);
    }
    wait_for(t.outcomes, expected);
  }
  CHECK(t.wrong == 0);
  CHECK(t.outcomes == expected);
  MESSAGE("results " << t.results.load() << ", aborted " << t.aborted.load());
}

TEST_CASE("waits begin on several threads while another completes") {
  tally t;
  runners r;
  for (int round = 0; round < rounds(4000); ++round) {
    promise<int> p(r.ctx.get_executor());
    auto const w = p.get_work();
    asio::post(r.ctx, [w, &t] { w.async_wait(check_once(t)); });
    asio::post(r.ctx, [w, &t] { w.async_wait(check_once(t)); });
    w.async_wait(check_once(t));
    p.set(42);
    wait_for(t.outcomes, 3 * (round + 1));
  }
  CHECK(t.wrong == 0);
  CHECK(t.aborted == 0);
}

TEST_CASE("copies of a handle die on several threads") {
  int const before = counted::alive;
  {
    runners r;
    for (int round = 0; round < rounds(4000); ++round) {
      promise<counted> p(r.ctx.get_executor());
      auto w = p.get_work();
      asio::post(r.ctx, [w] { w.async_wait([](error_code, counted) {}); });
      asio::post(r.ctx, [c = w.get_canceller()] { c.cancel(); });
      p.set(counted(round));
    }
  }
  CHECK(counted::alive == before);
}
