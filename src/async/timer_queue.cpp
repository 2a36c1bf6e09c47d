// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <hocket/async/detail/timer_queue.hpp>

namespace hocket::detail {

void intrusive_ptr_add_ref(timer_queue* q) noexcept {
  q->refs_.fetch_add(1, std::memory_order_relaxed);
}

void intrusive_ptr_release(timer_queue* q) noexcept {
  if (q->refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete q;
}

void timer_queue::add(op_base& op, clock::time_point when) {
  timer& t = op.deadline();
  t.when = when;
  t.queue = this;
  bool first = false;
  {
    std::lock_guard const lock(mutex_);
    if (closed_) return;
    auto const place = timers_.insert(t);  // before begin() is asked for
    first = place == timers_.begin();
  }
  if (first) wake_();
}

bool timer_queue::advance(op_base& op, clock::time_point when) {
  timer& t = op.deadline();
  bool first = false;
  {
    std::lock_guard const lock(mutex_);
    if (!t.is_linked() || t.when <= when) return false;
    timers_.erase(timers_.iterator_to(t));
    t.when = when;
    first = timers_.insert(t) == timers_.begin();
  }
  if (first) wake_();
  return true;
}

void timer_queue::remove(timer& t) noexcept {
  std::lock_guard const lock(mutex_);
  if (t.is_linked()) timers_.erase(timers_.iterator_to(t));
}

std::optional<clock::time_point> timer_queue::next() const {
  std::lock_guard const lock(mutex_);
  if (timers_.empty()) return std::nullopt;
  return timers_.begin()->when;
}

op_ref timer_queue::pop_due(clock::time_point now) {
  std::lock_guard const lock(mutex_);
  while (!timers_.empty() && timers_.begin()->when <= now) {
    op_base& op = op_base::of(*timers_.begin());
    timers_.erase(timers_.begin());
    if (op.lock_strong()) return op_ref(&op, false);
  }
  return {};
}

void timer_queue::close() noexcept {
  std::lock_guard const lock(mutex_);
  closed_ = true;
  timers_.clear();
}

}  // namespace hocket::detail
