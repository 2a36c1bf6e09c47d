// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Not an Asio coroutine: any coroutine type without an await_transform of its own can await a
// handle. It resumes on the group's executor.
#include <boost/asio/io_context.hpp>
#include <coroutine>
#include <cstdio>
#include <exception>
#include <hocket/hocket.hpp>
#include <utility>

namespace asio = boost::asio;

namespace {

// The smallest coroutine type that owns its frame: starts at once, is destroyed with its object.
class task {
 public:
  struct promise_type {
    task get_return_object() {
      return task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { failure = std::current_exception(); }
    std::exception_ptr failure;
  };
  explicit task(std::coroutine_handle<promise_type> h) noexcept : frame_(h) {}
  task(task&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
  ~task() {
    if (frame_) frame_.destroy();
  }
  void result() const {
    if (!frame_.done()) std::puts("not finished");
    if (frame_.promise().failure) std::rethrow_exception(frame_.promise().failure);
  }

 private:
  std::coroutine_handle<promise_type> frame_;
};

task rank_main(hocket::world w) {
  auto in = hocket::tensor::full(hocket::dtype::i64, {1}, 10 * w.rank().value());
  auto out = hocket::tensor::empty(hocket::dtype::i64, {w.size()});
  co_await w.group().all_gather(out, in);
  std::printf("rank %d gathered %s\n", w.rank().value(), to_string(out).c_str());
}

}  // namespace

int main() {
  asio::io_context ctx;
  hocket::local_world ranks(ctx.get_executor(), 3);
  task a = rank_main(ranks[0]);
  task b = rank_main(ranks[1]);
  task c = rank_main(ranks[2]);
  ctx.run();
  for (task const* t : {&a, &b, &c}) t->result();
}
