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

std::unique_ptr<failure> kept(failure f) {
  if (!f.code && !f.exception) return nullptr;
  return std::make_unique<failure>(std::move(f));
}

void run_all(continuation* list) noexcept {
  while (list != nullptr) {
    auto* const c = std::exchange(list, list->next);
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
  // Only the waiter refers to the op for us, and a draining thread may free both: not under the
  // lock.
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

void op_base::end_waits(verdict v, failure f) {
  auto why = kept(std::move(f));
  {
    std::lock_guard const lock(lock_);
    if (settled() || held_ != verdict::pending) return;
    failure_ = std::move(why);
    held_ = v;
  }
  // First the engine, then the waits: who is told that a receive has ended may rely on it that the
  // next message goes to the next receive.
  if (v != verdict::done) waits_ended();
  if (hold_waits_) return;
  continuation* after = nullptr;
  {
    std::lock_guard const lock(lock_);
    if (settled()) return;  // withdrawn: finishing has told them
    verdict_.store(v, std::memory_order_release);
    after = take(point::settled);
  }
  tell(after);
}

void op_base::tell(continuation* after) {
  if (timer::queue) timer::queue->remove(*this);
  wake_waiters();
  run_all(after);
}

void op_base::abort() {
  if (!settled()) end_waits(verdict::aborted, {});
}

void op_base::expire() {
  if (settled()) return;
  auto story = to_string(info_) + ": " + expiry_story();
  end_waits(verdict::expired, make_failure(make_error_code(errc::timed_out), std::move(story)));
}

void op_base::finish(failure f) {
  HOCKET_ASSERT(!finished());
  if (f.code && !f.exception) f = make_failure(f.code, to_string(info_) + ": " + f.code.message());
  mark_posted();
  auto engine_failure = f.exception;
  auto why = kept(std::move(f));
  continuation* after_settling = nullptr;
  continuation* after_finishing = nullptr;
  bool first = false;
  {
    std::lock_guard const lock(lock_);
    engine_failure_ = std::move(engine_failure);
    if (first = !settled(); first) {
      auto const held = held_ != verdict::pending;  // then failure_ was stored when the wait ended
      if (!held) failure_ = std::move(why);
      verdict_.store(held ? held_.load() : verdict::done, std::memory_order_release);
      after_settling = take(point::settled);
    }
    finished_.store(true, std::memory_order_release);  // last: what has finished is settled
    after_finishing = take(point::finished);
  }
  if (first) tell(after_settling);
  run_all(after_finishing);
}

boost::system::error_code op_base::code() const noexcept {
  told_.store(true, std::memory_order_relaxed);
  if (state() == verdict::aborted) return operation_aborted();
  return failure_ ? failure_->code : boost::system::error_code();
}

failure op_base::why() const {
  told_.store(true, std::memory_order_relaxed);
  if (state() == verdict::aborted)
    return make_failure(operation_aborted(), to_string(info_) + ": the wait was cancelled");
  return failure_ ? *failure_ : failure();
}

void op_base::abort_one(waiter* w, std::uint32_t id) {
  port_ptr kick;
  {
    std::lock_guard const lock(lock_);
    for (hook* h = waiters_.next; h != &waiters_; h = h->next) {
      auto* const candidate = static_cast<waiter*>(static_cast<op_hook*>(h));
      if (candidate != w || candidate->id != id) continue;  // w may be long gone
      candidate->aborted = true;
      if (hold_waits_ && !finished()) break;  // told so when the buffers are free
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
    after = take(point::posted);
  }
  run_all(after);
}

bool op_base::reached(point p) const noexcept {
  switch (p) {
    case point::posted:
      return posted_;
    case point::settled:
      return settled();
    case point::finished:
      return finished();
  }
  return false;
}

// Under the lock. The result is in the order of registration.
continuation* op_base::take(point p) noexcept {
  continuation* taken = nullptr;
  for (auto** at = &followers_; *at != nullptr;) {
    auto* const c = *at;
    if (c->at != p) {
      at = &c->next;
      continue;
    }
    *at = c->next;
    c->next = std::exchange(taken, c);
  }
  return taken;
}

void op_base::follow(continuation& c, point p) noexcept {
  {
    std::lock_guard const lock(lock_);
    if (!reached(p)) {
      c.at = p;
      c.next = std::exchange(followers_, &c);
      return;
    }
  }
  c.run(&c);
}

bool op_base::withdraw(continuation& c) noexcept {
  std::lock_guard const lock(lock_);
  for (auto** at = &followers_; *at != nullptr; at = &(*at)->next) {
    if (*at != &c) continue;
    *at = c.next;
    return true;
  }
  return false;
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
  // The queue of deadlines looks at ops without holding them: then even the last reference must be
  // seen to go before the memory does.
  bool const watched = timer::queue != nullptr;
  bool const last =
      (!watched && alone()) || (counts_.fetch_sub(1, std::memory_order_acq_rel) & 0xffffffff) == 1;
  if (!last) return;
  if (watched) timer::queue->remove(*this);
  drop_value();
  if (counts_.load(std::memory_order_acquire) >> 32 == 1) {
    delete this;
  } else {
    weak_release();
  }
}

}  // namespace hocket::detail
