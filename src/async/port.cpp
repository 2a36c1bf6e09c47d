// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <hocket/async/detail/op_base.hpp>
#include <hocket/async/detail/port.hpp>
#include <hocket/async/seeded_context.hpp>
#include <optional>
#include <utility>

namespace hocket::detail {
namespace {

namespace asio = boost::asio;

// Then sockets, timers and stop() get their turn: after so many handlers, or after so long, which
// counts because one handler may start and await a thousand operations that are ready at once.
constexpr int handlers_a_turn = 64;
constexpr auto time_a_turn = std::chrono::microseconds(200);
constexpr int handlers_a_look = 4;  // at the clock

// Looks at the clock only in turns of several handlers, and only in an io_context, whose sockets
// and timers wait for the turn's end: a seeded context must not depend on how long things take.
class turn {
 public:
  explicit turn(bool timed) noexcept : timed_(timed) {}
  [[nodiscard]] bool is_over() {
    if (count_ == handlers_a_turn) return true;
    if (count_++ % handlers_a_look != 0 || count_ == 1 || !timed_) return false;
    auto const now = std::chrono::steady_clock::now();
    if (begin_ == std::chrono::steady_clock::time_point()) begin_ = now;
    return now - begin_ > time_a_turn;
  }

 private:
  bool timed_;
  int count_ = 0;
  std::chrono::steady_clock::time_point begin_;
};

// The one posted drain of a port lives inside the port: a wake-up from any thread allocates
// nothing.
class drain_slot {
 public:
  void* take(std::size_t n) {
    bool expected = false;
    if (n <= sizeof bytes_ && used_.compare_exchange_strong(expected, true)) return bytes_;
    return ::operator new(n);
  }
  void give(void* p) noexcept {
    if (p == bytes_) {
      used_.store(false, std::memory_order_release);
    } else {
      ::operator delete(p);
    }
  }

 private:
  alignas(std::max_align_t) std::byte bytes_[192];
  std::atomic<bool> used_{false};
};

template <class T>
struct slot_allocator {
  using value_type = T;
  drain_slot* slot;
  explicit slot_allocator(drain_slot* s) noexcept : slot(s) {}
  template <class U>
  slot_allocator(slot_allocator<U> const& other) noexcept : slot(other.slot) {}
  T* allocate(std::size_t n) { return static_cast<T*>(slot->take(n * sizeof(T))); }
  void deallocate(T* p, std::size_t) noexcept { slot->give(p); }
  template <class U>
  bool operator==(slot_allocator<U> const& other) const noexcept {
    return slot == other.slot;
  }
};

// Posts on the concrete executor: through any_io_executor a post ignores the allocator.
template <class Ex>
class port_on final : public port {
 public:
  port_on(Ex ex, bool timed) : port(ex, timed), concrete_(std::move(ex)) {}

 private:
  void post_drain() override {
    asio::post(concrete_, asio::bind_allocator(slot_allocator<void>(&slot_),
                                               [self = port_ptr(this)] { self->run_drain(); }));
  }
  void hold(bool on) noexcept override {
    if (on) {
      work_.emplace(asio::prefer(concrete_, asio::execution::outstanding_work.tracked));
    } else {
      work_.reset();
    }
  }

  using tracked = std::decay_t<decltype(asio::prefer(std::declval<Ex>(),
                                                     asio::execution::outstanding_work.tracked))>;
  Ex concrete_;
  std::optional<tracked> work_;
  drain_slot slot_;
};

// A port lives as long as its context: an executor that counts as outstanding work, as a composed
// operation hands one out, would keep the context from ever running out of it.
asio::any_io_executor uncounted(asio::any_io_executor const& ex) {
  return asio::prefer(ex, asio::execution::outstanding_work.untracked,
                      asio::execution::blocking.possibly, asio::execution::relationship.fork);
}

port_ptr make_port(asio::any_io_executor const& given) {
  using io = asio::io_context::executor_type;
  using pool = asio::thread_pool::executor_type;
  auto const ex = uncounted(given);
  if (auto const* p = ex.target<io>()) return new port_on<io>(*p, true);
  if (auto const* p = ex.target<pool>()) return new port_on<pool>(*p, false);
  if (auto const* p = ex.target<asio::strand<asio::any_io_executor>>())
    return make_port(p->get_inner_executor());
  if (auto const* p = ex.target<asio::strand<io>>()) return make_port(p->get_inner_executor());
  if (auto const* p = ex.target<asio::strand<pool>>()) return make_port(p->get_inner_executor());
  return new port_on<asio::any_io_executor>(ex, false);
}

// One port a context. An execution_context has no RTTI: its base executor comes from a caller's.
class delivery final : public asio::execution_context::service {
 public:
  using key_type = delivery;
  static asio::execution_context::id id;
  explicit delivery(asio::execution_context& context) : service(context) {}

  port_ptr on(asio::any_io_executor const& ex) {
    std::lock_guard const lock(mutex_);
    if (!port_) port_ = make_port(ex);
    if (down_) port_->close();
    return port_;
  }

 private:
  void shutdown() override {
    port_ptr p;
    {
      std::lock_guard const lock(mutex_);
      down_ = true;
      p = port_;
    }
    if (p) p->close();
  }

  std::mutex mutex_;
  port_ptr port_;
  bool down_ = false;  // handlers that die with their context may still ask for the port
};

asio::execution_context::id delivery::id;

// The executor of a context that is gone: what is given to it is destroyed.
class dead_end {
 public:
  template <class F>
  void execute(F&&) const noexcept {}
  static asio::execution_context& query(asio::execution::context_t) noexcept {
    return asio::query(asio::system_executor(), asio::execution::context);
  }
  static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept {
    return asio::execution::blocking_t::never;
  }
  friend bool operator==(dead_end, dead_end) noexcept { return true; }
};

}  // namespace

port_ptr const& system_port() {
  // Never destroyed: handles may outlive every other static.
  static auto const* const instance = new port_ptr(
      asio::use_service<delivery>(asio::query(asio::system_executor(), asio::execution::context))
          .on(asio::system_executor()));
  return *instance;
}

bool is_system(asio::any_io_executor const& ex) noexcept {
  using never = decltype(asio::require(asio::system_executor(), asio::execution::blocking.never));
  return ex.target<asio::system_executor>() != nullptr || ex.target<never>() != nullptr ||
         is_dead_end(ex);
}

bool is_dead_end(asio::any_io_executor const& ex) noexcept {
  return ex.target<dead_end>() != nullptr;
}

asio::any_io_executor executor_of(port const* home) {
  if (home == nullptr) return asio::system_executor();
  if (home->closed()) return dead_end();
  return home->executor();
}

bool runs_here(port const* home) noexcept {
  if (home == nullptr || home->closed()) return false;
  auto const& ex = home->executor();
  if (auto const* p = ex.target<asio::io_context::executor_type>())
    return p->running_in_this_thread();
  if (auto const* p = ex.target<asio::thread_pool::executor_type>())
    return p->running_in_this_thread();
  if (auto const* p = ex.target<seeded_context::executor_type>())
    return p->running_in_this_thread();
  return false;
}

port_ptr port_of(asio::any_io_executor const& ex) {
  if (!ex) return nullptr;
  if (is_system(ex)) return system_port();
  return asio::use_service<delivery>(asio::query(ex, asio::execution::context)).on(ex);
}

port::port(asio::any_io_executor ex, bool timed) : executor_(std::move(ex)), timed_(timed) {}

bool port::add(waiter* w) noexcept {
  std::lock_guard const lock(lock_);
  if (closed()) return false;
  if (count_++ == 0) hold(true);
  pending_.push_back(static_cast<port_hook&>(*w));
  return true;
}

bool port::enqueue(waiter* w) noexcept {
  std::lock_guard const lock(lock_);
  if (closed()) return false;  // close() owns the waiter now
  static_cast<port_hook*>(w)->unlink();
  ready_.push_back(static_cast<port_hook&>(*w));
  if (posted_) return false;
  posted_ = true;
  posting_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void port::kick() {
  post_drain();
  posting_.fetch_sub(1, std::memory_order_release);
}

void port::drop(waiter* w) noexcept {
  std::lock_guard const lock(lock_);
  static_cast<port_hook*>(w)->unlink();
  if (!closed() && --count_ == 0) hold(false);
}

void port::post_next(std::unique_lock<spin_lock>& lock) {
  if (std::exchange(posted_, true)) return;
  lock.unlock();
  post_drain();
}

// The next turn is posted before a handler runs, unless one is: another thread of the context takes
// the handlers behind one that blocks. With one thread that is one post a turn, which is needed at
// its end anyhow or finds nothing to do.
void port::run_drain() {
  std::unique_lock lock(lock_);
  posted_ = false;
  for (turn this_turn(timed_); ready_.linked();) {
    if (this_turn.is_over()) return post_next(lock);
    auto* const w = static_cast<waiter*>(static_cast<port_hook*>(ready_.next));
    static_cast<port_hook*>(w)->unlink();
    if (--count_ == 0) hold(false);
    if (ready_.linked()) post_next(lock);
    if (lock.owns_lock()) lock.unlock();
    try {
      w->run(w, true);
    } catch (...) {
      // The handler's exception leaves run(); the handlers behind it must not be lost.
      lock.lock();
      if (ready_.linked()) post_next(lock);
      throw;
    }
    lock.lock();
  }
}

void port::close() noexcept {
  hook all;
  {
    std::lock_guard const lock(lock_);
    closed_.store(true, std::memory_order_release);
    for (hook* from : {&pending_, &ready_}) {
      while (from->linked()) {
        hook* const h = from->next;
        h->unlink();
        all.push_back(*h);
      }
    }
    if (std::exchange(count_, 0) != 0) hold(false);
  }
  while (posting_.load(std::memory_order_acquire) != 0) ::sched_yield();
  for (;;) {
    waiter* w = nullptr;
    {
      std::lock_guard const lock(lock_);
      if (!all.linked()) return;
      w = static_cast<waiter*>(static_cast<port_hook*>(all.next));
      static_cast<port_hook*>(w)->unlink();
    }
    w->op->forget(w);
    w->run(w, false);
  }
}

}  // namespace hocket::detail
