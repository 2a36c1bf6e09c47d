// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <hocket/async/run.hpp>
#include <thread>

namespace hocket {
namespace {

// About what a thread's wake-up costs.
constexpr auto spin_max = std::chrono::microseconds(50);

// While it lives, the thread drives the runtime.
class driver {
 public:
  explicit driver(runtime& rt) : rt_(rt) { rt_.begin_loop(); }
  driver(driver const&) = delete;
  driver& operator=(driver const&) = delete;
  ~driver() { rt_.end_loop(); }

 private:
  runtime& rt_;
};

// Returns when nothing has happened for a while.
std::size_t run_while_busy(boost::asio::io_context& ctx, runtime& rt) {
  driver const at_it(rt);
  std::size_t handlers = 0;
  auto last = std::chrono::steady_clock::now();
  while (!ctx.stopped()) {
    auto const n = ctx.poll();
    handlers += n;
    bool const more = rt.poll_from_loop();
    auto const now = std::chrono::steady_clock::now();
    if (n > 0 || more) {
      last = now;
    } else if (now - last > spin_max) {
      break;
    } else {
      std::this_thread::yield();  // there may be more threads that wait than cores
    }
  }
  return handlers;
}

}  // namespace

std::size_t run(boost::asio::io_context& ctx, runtime& rt) {
  std::size_t handlers = 0;
  while (!ctx.stopped()) {
    handlers += run_while_busy(ctx, rt);
    handlers += ctx.run_one();
  }
  return handlers;
}

}  // namespace hocket
