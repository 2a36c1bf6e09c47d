// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <condition_variable>
#include <hocket/async/promise.hpp>
#include <hocket/async/stream.hpp>
#include <hocket/async/work.hpp>
#include <mutex>
#include <utility>

namespace hocket::detail {

thread_local int inline_level::depth_ = 0;

op_info const& no_info() noexcept {
  static op_info const none;
  return none;
}

failure empty_handle() {
  return make_failure(make_error_code(errc::invalid_argument),
                      "an empty handle was awaited: it was moved from, awaited with std::move "
                      "before, or never assigned");
}

failure wait_ended(op_info const& info) {
  return make_failure(operation_aborted(),
                      to_string(info) + ": the wait was cancelled through its slot");
}

signal_state::signal_state(port_ptr home) noexcept : op_state<void>(std::move(home)) {
  continuation::run = [](continuation* c) noexcept {
    op_ptr<void> const self(static_cast<signal_state*>(c), false);
    self->finish();
  };
}

namespace {

// A handle without a result that follows a point in another op's life.
work<void> follow(op_base* op, char const* what, void (op_base::*when)(continuation&)) {
  if (op == nullptr) return {};
  boost::intrusive_ptr<signal_state> signal(new signal_state(op->home()), false);
  signal->mutable_info().operation = what;
  signal->mutable_info().site = op->info().site;
  work<void> handle{op_ptr<void>(signal)};
  (op->*when)(*signal.detach());  // the reference is the continuation's
  return handle;
}

bool runs_here(port const* home) {
  if (home == nullptr || home->closed()) return false;
  auto const& ex = home->executor();
  if (auto const* io = ex.target<boost::asio::io_context::executor_type>())
    return io->running_in_this_thread();
  if (auto const* pool = ex.target<boost::asio::thread_pool::executor_type>())
    return pool->running_in_this_thread();
  return false;
}

class blocked_thread final : public continuation {
 public:
  blocked_thread() {
    continuation::run = [](continuation* c) noexcept {
      auto* const self = static_cast<blocked_thread*>(c);
      std::shared_ptr<state> const s = std::move(self->state_);
      delete self;
      std::lock_guard const lock(s->mutex);
      s->settled = true;
      s->changed.notify_all();
    };
  }
  struct state {
    std::mutex mutex;
    std::condition_variable changed;
    bool settled = false;
  };
  std::shared_ptr<state> state_ = std::make_shared<state>();
};

}  // namespace

work<void> posted(op_base* op) { return follow(op, "posted", &op_base::when_posted); }
work<void> released(op_base* op) { return follow(op, "released", &op_base::when_finished); }

void order_after(stream& s, op_ref op) {
  if (op) s.wait(event(std::move(op)));
}

void block_until_settled(op_base* op, clock::duration limit) {
  if (op == nullptr || op->settled()) return;
  if (runs_here(op->home()))
    throw error(errc::would_block, to_string(op->info()) +
                                       ": get() would block a thread that runs the group's "
                                       "executor; co_await the handle instead");
  auto* const me = new blocked_thread;
  auto const s = me->state_;
  op->when_settled(*me);  // deletes itself when it has run
  std::unique_lock lock(s->mutex);
  if (!s->changed.wait_for(lock, limit, [&] { return s->settled; }))
    throw error(
        errc::timed_out,
        fmt::format("{}: no result after {} ms; the operation goes on", to_string(op->info()),
                    std::chrono::duration_cast<std::chrono::milliseconds>(limit).count()));
}

}  // namespace hocket::detail
