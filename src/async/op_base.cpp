// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <algorithm>
#include <hocket/async/detail/op_base.hpp>
#include <hocket/async/detail/timer_queue.hpp>
#include <hocket/detail/assert.hpp>
#include <hocket/error.hpp>
#include <mutex>
#include <utility>

namespace hocket::detail {
namespace {

// The list was built by pushing in front: run it in the order of registration.
void run_all(continuation* list) noexcept {
  continuation* ordered = nullptr;
  while (list != nullptr) {
    auto* const next = std::exchange(list->next, ordered);
    ordered = std::exchange(list, next);
  }
  while (ordered != nullptr) {
    auto* const c = std::exchange(ordered, ordered->next);
    c->run(c);
  }
}

}  // namespace

failure make_failure(boost::system::error_code code, std::string story) {
  return {code, std::make_exception_ptr(error(code, std::move(story)))};
}

failure failure_from(std::exception_ptr e) {
  try {
    std::rethrow_exception(e);
  } catch (boost::system::system_error const& x) {
    return {x.code(), std::move(e)};
  } catch (...) {
    return {make_error_code(errc::peer_failed), std::move(e)};
  }
}

waiter* op_base::make_waiter() {
  bool const mine = !in_place_used_.exchange(true, std::memory_order_acquire);
  auto* const w = mine ? ::new (&first_) waiter : ::new (take_block(sizeof(waiter))) waiter;
  w->in_place = mine;
  w->op = this;
  return w;
}

void op_base::free_waiter(waiter* w) noexcept {
  if (w->in_place) {
    in_place_used_.store(false, std::memory_order_release);
  } else {
    w->~waiter();
    give_block(w, sizeof(waiter));
  }
}

void op_base::number(waiter* w) noexcept {
  std::lock_guard const lock(lock_);
  w->id = ++next_id_;
}

bool op_base::enter(waiter* w) {
  port* const home = w->home;
  {
    std::lock_guard const lock(lock_);
    if (!home->add(w)) return false;
    if (verdict_ == verdict::pending) {
      waiters_.push_back(static_cast<op_hook&>(*w));
      return true;
    }
  }
  // Only the waiter refers to the op for us, and a draining thread may free both: not under the lock.
  if (home->enqueue(w)) home->kick();
  return true;
}

bool op_base::claim(waiter* w) noexcept {
  static_cast<op_hook*>(w)->unlink();
  return w->home->enqueue(w);
}

void op_base::wake_waiters() {
  for (bool more = true; more;) {
    port_ptr kick;
    {
      std::lock_guard const lock(lock_);
      if (!waiters_.linked()) return;
      auto* const w = static_cast<waiter*>(static_cast<op_hook*>(waiters_.next));
      port* const home = w->home;
      if (claim(w)) kick = home;
      more = waiters_.linked();
    }
    if (kick) kick->kick();
  }
}

void op_base::settle(verdict v, failure f) {
  continuation* after = nullptr;
  {
    std::lock_guard const lock(lock_);
    if (verdict_ != verdict::pending) return;
    if (hold_waits_ && v != verdict::done && !finished_) {
      if (held_ != verdict::pending) return;
      held_ = v;
      failure_ = std::move(f);
      return;
    }
    if (held_ != verdict::pending) {
      v = held_;  // failure_ was stored when the wait ended
    } else {
      failure_ = std::move(f);
    }
    verdict_.store(v, std::memory_order_release);
    after = std::exchange(on_settled_, nullptr);
  }
  if (timer::queue) timer::queue->remove(*this);
  wake_waiters();
  run_all(after);
}

void op_base::abort() {
  if (settled()) return;
  settle(verdict::aborted,
         make_failure(operation_aborted(), to_string(info_) + ": the wait was cancelled"));
  waits_ended();
}

void op_base::expire() {
  if (settled()) return;
  settle(verdict::expired,
         make_failure(make_error_code(errc::timed_out), to_string(info_) + ": " + expiry_story()));
  waits_ended();
}

void op_base::finish(failure f) {
  HOCKET_ASSERT(!finished());
  continuation* after = nullptr;
  mark_posted();
  {
    std::lock_guard const lock(lock_);
    engine_failure_ = f.exception;
    finished_.store(true, std::memory_order_release);
    after = std::exchange(on_finished_, nullptr);
  }
  settle(verdict::done, std::move(f));
  run_all(after);
}

void op_base::abort_one(waiter* w, std::uint32_t id) {
  port_ptr kick;
  {
    std::lock_guard const lock(lock_);
    for (hook* h = waiters_.next; h != &waiters_; h = h->next) {
      auto* const candidate = static_cast<waiter*>(static_cast<op_hook*>(h));
      if (candidate != w || candidate->id != id) continue;  // w may be long gone
      candidate->aborted = true;
      port* const home = candidate->home;
      if (claim(candidate)) kick = home;
      break;
    }
  }
  if (kick) kick->kick();
}

void op_base::forget(waiter* w) noexcept {
  std::lock_guard const lock(lock_);
  static_cast<op_hook*>(w)->unlink();
}

void op_base::mark_posted() noexcept {
  continuation* after = nullptr;
  {
    std::lock_guard const lock(lock_);
    posted_ = true;
    after = std::exchange(on_posted_, nullptr);
  }
  run_all(after);
}

void op_base::when_posted(continuation& c) noexcept {
  {
    std::lock_guard const lock(lock_);
    if (!posted_) {
      c.next = std::exchange(on_posted_, &c);
      return;
    }
  }
  c.run(&c);
}

void op_base::when_settled(continuation& c) noexcept {
  {
    std::lock_guard const lock(lock_);
    if (verdict_ == verdict::pending) {
      c.next = std::exchange(on_settled_, &c);
      return;
    }
  }
  c.run(&c);
}

void op_base::when_finished(continuation& c) noexcept {
  {
    std::lock_guard const lock(lock_);
    if (!finished_) {
      c.next = std::exchange(on_finished_, &c);
      return;
    }
  }
  c.run(&c);
}

bool op_base::lock_strong() noexcept {
  auto n = counts_.load(std::memory_order_relaxed);
  while ((n & 0xffffffff) != 0)
    if (counts_.compare_exchange_weak(n, n + 1, std::memory_order_acquire)) return true;
  return false;
}

void op_base::weak_release() noexcept {
  if (counts_.fetch_sub(one_weak, std::memory_order_acq_rel) >> 32 == 1) delete this;
}

void op_base::release() noexcept {
  if (!alone() && (counts_.fetch_sub(1, std::memory_order_acq_rel) & 0xffffffff) != 1) return;
  drop_value();
  if (counts_.load(std::memory_order_acquire) >> 32 == 1) {
    delete this;
  } else {
    weak_release();
  }
}

}  // namespace hocket::detail
