// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/recycling_allocator.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <exception>
#include <hocket/async/detail/op_state.hpp>
#include <hocket/error.hpp>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace boost::asio::detail {
template <typename Signature, typename Executor>
class awaitable_async_op_handler;
template <typename T, typename Blocking>
class promise_executor;  // of use_future
}  // namespace boost::asio::detail

/// How a completion handler of any type gets into a waiter, and out of it again.
namespace hocket::detail {

namespace asio = boost::asio;

template <class E, class T>
struct signature {
  using type = void(E, T);
};
template <class E>
struct signature<E, void> {
  using type = void(E);
};
template <class E, class T>
using signature_t = typename signature<E, T>::type;

/// The error of a wait that its slot ended.
[[nodiscard]] failure wait_ended(op_info const& info);

template <class E, class T, class H>
void complete(E e, value_of<T> v, H&& h) {
  if constexpr (std::is_void_v<T>) {
    std::move(h)(std::move(e));
  } else {
    std::move(h)(std::move(e), std::move(v));
  }
}

template <class E>
inline constexpr bool wants_exception = std::is_same_v<E, std::exception_ptr>;

template <class E>
E select(failure const& f) {
  if constexpr (wants_exception<E>) {
    return f.exception;
  } else {
    return f.code;
  }
}

// A cancelled wait seen as an error_code costs no exception, no text and no memory.
template <class E>
E why_ended(op_base const& o) {
  if constexpr (wants_exception<E>)
    return wait_ended(o.info()).exception;
  else
    return operation_aborted();
}
template <class E>
E why_failed(op_base const& o) {
  if constexpr (wants_exception<E>)
    return o.why().exception;
  else
    return o.code();
}

/// Calls the handler with what the op has to say. `aborted`: this wait's own cancellation.
template <class E, class T, class H>
void call(op_ptr<T> o, bool aborted, H&& h) {
  E e{};
  value_of<T> v{};
  if (aborted) {
    e = why_ended<E>(*o);
  } else if (o->failed()) {
    e = why_failed<E>(*o);
  } else {
    try {
      v = o->take();
    } catch (boost::system::system_error const& x) {
      e = select<E>(failure{x.code(), std::current_exception()});
    } catch (...) {
      e = select<E>(failure{make_error_code(errc::out_of_memory), std::current_exception()});
    }
  }
  o.reset();  // before the handler: it may start the next op in the same memory
  complete<E, T>(std::move(e), std::move(v), std::forward<H>(h));
}

struct own_executor {};  // of a handler that lives on its port's own executor

/// A handler erased into a waiter: in place if it fits, else by its allocator.
template <class E, class T, class H, class Ex>
class stored {
 public:
  static void put(waiter* w, H&& h, Ex ex) {
    void* p = w->buffer;
    if constexpr (!fits) {
      p = allocator_of(h).allocate(1);
    }
    at(w) = ::new (p) stored(std::move(h), std::move(ex));
    w->run = &run;
  }

 private:
  static constexpr std::size_t executor_size = std::is_same_v<Ex, own_executor> ? 0 : sizeof(Ex);
  static constexpr bool fits =
      sizeof(H) + executor_size <= waiter::room - sizeof(void*) && alignof(H) <= 16;
  using theirs = asio::associated_allocator_t<H, asio::recycling_allocator<void>>;
  using allocator = typename std::allocator_traits<theirs>::template rebind_alloc<stored>;

  stored(H&& h, Ex ex) : handler_(std::move(h)), executor_(std::move(ex)) {}

  static allocator allocator_of(H const& h) {
    return allocator(asio::get_associated_allocator(h, asio::recycling_allocator<void>()));
  }
  // The pointer to the handler sits at the end of the buffer, or alone at its start.
  static stored*& at(waiter* w) noexcept {
    constexpr std::size_t offset = fits ? waiter::room - sizeof(void*) : 0;
    return *reinterpret_cast<stored**>(w->buffer + offset);
  }
  static void run(waiter* w, bool invoke) {
    if constexpr (!std::is_same_v<Ex, own_executor>) {
      if (invoke) {
        auto ex = at(w)->executor_;  // the stored one keeps its context busy until the handler ran
        auto a = asio::get_associated_allocator(at(w)->handler_);
        asio::dispatch(ex, asio::bind_allocator(a, runner(w)));
        return;
      }
    }
    end(w, invoke);
  }
  static void end(waiter* w, bool invoke) {
    stored* const s = at(w);
    H h(std::move(s->handler_));
    op_ptr<T> o(static_cast<op_state<T>*>(w->op), false);
    bool const aborted = w->aborted;
    if constexpr (fits) {
      s->~stored();
    } else {
      allocator a = allocator_of(h);
      s->~stored();
      a.deallocate(s, 1);
    }
    o->free_waiter(w);
    if (!invoke) return;
    if (auto slot = asio::get_associated_cancellation_slot(h); slot.is_connected()) slot.clear();
    call<E, T>(std::move(o), aborted, std::move(h));
  }

  class runner {  // runs on the handler's executor, or is destroyed with it
   public:
    explicit runner(waiter* w) noexcept : waiter_(w) {}
    runner(runner&& other) noexcept : waiter_(std::exchange(other.waiter_, nullptr)) {}
    ~runner() {
      if (waiter_ != nullptr) end(waiter_, false);
    }
    void operator()() { end(std::exchange(waiter_, nullptr), true); }

   private:
    waiter* waiter_;
  };

  H handler_;
  [[no_unique_address]] Ex executor_;
};

/// What an Asio slot calls: ends one wait. A stale emission finds nothing.
class slot_cancel {
 public:
  slot_cancel(op_base* op, waiter* w) noexcept : op_(op), waiter_(w), id_(w->id) {
    op_->weak_add();
  }
  slot_cancel(slot_cancel const&) = delete;
  slot_cancel& operator=(slot_cancel const&) = delete;
  ~slot_cancel() { op_->weak_release(); }
  void operator()(asio::cancellation_type type) {
    if (type == asio::cancellation_type::none || !op_->lock_strong()) return;
    op_ref const keep(op_, false);
    op_->slot_emitted(waiter_, id_);
  }

 private:
  op_base* op_;
  waiter* waiter_;
  std::uint32_t id_;
};

/// Only `co_await work` in an Asio awaitable resumes inside the initiation; all else is posted.
template <class H>
inline constexpr bool resumes_inline = false;
template <class S, class Ex>
inline constexpr bool resumes_inline<asio::detail::awaitable_async_op_handler<S, Ex>> = true;

/// Counts nested inline completions: each costs stack (0.5 KB, 2 KB under ASan).
class inline_level {
 public:
  static constexpr int most = 32;
  [[nodiscard]] static bool available() noexcept { return depth_ < most; }
  inline_level() noexcept { ++depth_; }
  inline_level(inline_level const&) = delete;
  inline_level& operator=(inline_level const&) = delete;
  ~inline_level() { --depth_; }

 private:
  static thread_local int depth_;
};

// Handlers of a type-erased executor without a context property: look at what it erased.
template <class Ex>
port_ptr port_erased_in(Ex const& ex) {
  using io = asio::io_context::executor_type;
  using pool = asio::thread_pool::executor_type;
  if (auto const* p = ex.template target<asio::any_io_executor>()) return port_of(*p);
  if (auto const* p = ex.template target<io>()) return port_of(*p);
  if (auto const* p = ex.template target<pool>()) return port_of(*p);
  if (auto const* p = ex.template target<asio::strand<asio::any_io_executor>>())
    return port_of(p->get_inner_executor());
  if (auto const* p = ex.template target<asio::strand<io>>())
    return port_of(p->get_inner_executor());
  if (auto const* p = ex.template target<asio::strand<pool>>())
    return port_of(p->get_inner_executor());
  return nullptr;
}

// Known by their types: to ask them for their context would start the system's threads.
template <class Ex>
inline constexpr bool of_system = false;
template <class B, class R, class A>
inline constexpr bool of_system<asio::basic_system_executor<B, R, A>> = true;
template <class T, class Blocking>
inline constexpr bool of_system<asio::detail::promise_executor<T, Blocking>> = true;

/// The port that delivers to an executor; null if it belongs to the system context.
template <class Ex>
port_ptr port_behind(Ex const& ex) {
  if constexpr (requires { ex.get_inner_executor(); }) {
    return port_behind(ex.get_inner_executor());
  } else if constexpr (std::is_same_v<Ex, asio::any_io_executor>) {
    return is_system(ex) ? nullptr : port_of(ex);
  } else if constexpr (of_system<Ex>) {
    return nullptr;
  } else if constexpr (std::is_convertible_v<Ex const&, asio::any_io_executor>) {
    return port_of(ex);
  } else if constexpr (requires { ex.template target<asio::any_io_executor>(); }) {
    return port_erased_in(ex);
  } else {
    return nullptr;
  }
}

/// Calls the handler of an empty handle, on its executor and never inside the initiation.
template <class E, class T, class H>
void wait_on_empty(H h) {
  auto ex = asio::get_associated_executor(h, asio::system_executor());
  auto call = [h = std::move(h)]() mutable {
    complete<E, T>(select<E>(empty_handle()), value_of<T>{}, std::move(h));
  };
  if constexpr (asio::can_require_v<decltype(ex), asio::execution::blocking_t::never_t>) {
    asio::post(ex, std::move(call));
  } else {
    auto tracked = asio::prefer(ex, asio::execution::outstanding_work.tracked);
    asio::post(asio::system_executor(), [tracked, call = std::move(call)]() mutable {
      asio::dispatch(tracked, std::move(call));
    });
  }
}

/// Begins one wait of handler `h`.
template <class E, class T, class H>
void start(op_ptr<T> o, H h) {
  if (!o) return wait_on_empty<E, T>(std::move(h));
  if constexpr (wants_exception<E> && resumes_inline<H>) {
    if (o->settled() && inline_level::available()) {
      inline_level const level;
      return call<E, T>(std::move(o), false, std::move(h));
    }
  }
  port_ptr home(o->home());
  auto ex = asio::get_associated_executor(h, executor_of(o->home()));
  if constexpr (std::is_same_v<decltype(ex), asio::any_io_executor>) {
    if (is_dead_end(ex)) return;  // none of its own and the group's context is gone: not called
  }
  bool direct = home && home->same(ex);
  if (!direct) {
    if (port_ptr other = port_behind(ex)) {
      home = std::move(other);
      direct = home->same(ex);
    } else if (!home || home->closed()) {
      home = system_port();
    }
  }
  op_base* const op = o.get();
  waiter* const w = op->make_waiter();
  w->home = home.get();
  auto slot = asio::get_associated_cancellation_slot(h);
  if (direct) {
    stored<E, T, H, own_executor>::put(w, std::move(h), own_executor());
  } else {
    auto tracked = asio::prefer(ex, asio::execution::outstanding_work.tracked);
    stored<E, T, H, decltype(tracked)>::put(w, std::move(h), std::move(tracked));
  }
  if (slot.is_connected()) {
    op->number(w);
    slot.template emplace<slot_cancel>(op, w);
  }
  o.detach();  // the waiter's now
  if (!op->enter(w)) w->run(w, false);
}

template <class E, class T>
class initiate {
 public:
  using executor_type = asio::any_io_executor;
  explicit initiate(op_ptr<T> o) noexcept : op_(std::move(o)) {}
  [[nodiscard]] executor_type get_executor() const noexcept {
    return executor_of(op_ ? op_->home() : nullptr);
  }
  template <class H>
  void operator()(H&& h) {
    start<E, T, std::decay_t<H>>(std::move(op_), std::forward<H>(h));
  }

 private:
  op_ptr<T> op_;
};

}  // namespace hocket::detail
