// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <hocket/async/promise.hpp>
#include <hocket/async/stream.hpp>
#include <hocket/async/work.hpp>
#include <mutex>
#include <thread>
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

class following final : public signal_state {
 public:
  explicit following(op_base* op) : signal_state(op->home()), followed_(op) {}
  [[nodiscard]] bool drive() override { return followed_.drive(); }

 private:
  weak_op const followed_;
};

// A handle without a result that follows a point in another op's life.
work<void> follow(op_base* op, char const* what, void (op_base::*when)(continuation&)) {
  if (op == nullptr) return {};
  boost::intrusive_ptr<following> signal(new following(op), false);
  signal->mutable_info().operation = what;
  signal->mutable_info().site = op->info().site;
  work<void> handle{op_ptr<void>(signal)};
  (op->*when)(*signal.detach());  // the reference is the continuation's
  return handle;
}

// A thread in get(). It sleeps until the op is settled and takes its continuation back when it
// gives up earlier.
class blocked_thread final : public continuation {
 public:
  explicit blocked_thread(op_base& op) : op_(op) {
    continuation::run = [](continuation* c) noexcept {
      auto* const self = static_cast<blocked_thread*>(c);
      std::lock_guard const lock(self->mutex_);
      self->settled_ = true;
      self->changed_.notify_all();  // under the lock: the thread destroys all this when it wakes
    };
    op_.when_settled(*this);
  }
  blocked_thread(blocked_thread const&) = delete;
  blocked_thread& operator=(blocked_thread const&) = delete;
  ~blocked_thread() {
    if (op_.withdraw(*this)) return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return settled_; });  // it is being called right now
  }
  bool wait_until(std::chrono::steady_clock::time_point end) {
    auto nap = std::chrono::microseconds(0);
    while (!op_.settled() && op_.drive()) {
      auto const now = std::chrono::steady_clock::now();
      if (now >= end) return op_.settled();
      std::unique_lock lock(mutex_);
      changed_.wait_until(lock, std::min(end, now + nap), [this] { return settled_; });
      nap = std::min(nap + nap_step, nap_max);
    }
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, end, [this] { return settled_; });
  }

 private:
  // Between two turns of a thread that drives: hardly any at first, for it may move bytes.
  static constexpr auto nap_step = std::chrono::microseconds(1);
  static constexpr auto nap_max = std::chrono::microseconds(1000);

  op_base& op_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool settled_ = false;
};

std::chrono::steady_clock::time_point after(clock::duration limit) {
  auto const now = std::chrono::steady_clock::now();
  clock::duration const most = std::chrono::hours(24 * 365);
  return now + std::min(limit, most);
}

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
  op_ref const keep(op);
  if (!blocked_thread(*op).wait_until(after(limit)))
    throw error(
        errc::timed_out,
        fmt::format("{}: no result after {} ms; the operation goes on", to_string(op->info()),
                    std::chrono::duration_cast<std::chrono::milliseconds>(limit).count()));
}

}  // namespace hocket::detail
