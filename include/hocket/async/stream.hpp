// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <concepts>
#include <hocket/async/event.hpp>
#include <hocket/async/promise.hpp>
#include <hocket/detail/block_pool.hpp>
#include <memory>
#include <type_traits>
#include <utility>

namespace boost::asio {
class thread_pool;
}

namespace hocket {

/// An ordered queue of work on a device or a host worker. Any thread may call.
class stream {
 public:
  virtual ~stream() = default;
  /// Marks the end of everything enqueued so far.
  [[nodiscard]] virtual event record() = 0;
  /// Later work of this stream starts only after the mark. The caller is not held up.
  virtual void wait(event const& mark) = 0;
};

namespace detail {

/// One entry of a host stream: a call, or the wait for a mark.
struct stream_item : pooled {
  stream_item* next = nullptr;
  event mark;
  virtual ~stream_item() = default;
  virtual void run() {}
};

template <class F>
struct stream_call final : stream_item {
  F function;
  explicit stream_call(F f) : function(std::move(f)) {}
  void run() override { function(); }
};

}  // namespace detail

/// A stream whose work runs on a host worker, one item at a time, in order: a CPU program has the
/// same semantics as one with a device. An item that throws stops nothing that follows, but every
/// later mark fails with its exception until `clear_failure()`; so does a mark waited for that
/// failed. What is enqueued is outstanding work of the worker's context. If that context dies, it
/// is destroyed unrun and its marks fail.
class host_stream final : public stream {
 public:
  /// Runs on one thread of its own.
  host_stream();
  /// Runs on `worker`: one item at a time, never two threads at once, whatever the executor.
  /// Throws `errc::invalid_argument` if it is empty.
  explicit host_stream(boost::asio::any_io_executor worker);
  /// With a thread of its own: runs what can run and returns when that is done; what waits for a
  /// mark that has not come is dropped, and the marks behind it fail. Not to be called by an item.
  /// Else returns at once, and what is enqueued still runs.
  ~host_stream() override;
  host_stream(host_stream const&) = delete;
  host_stream& operator=(host_stream const&) = delete;

  [[nodiscard]] event record() override;
  void wait(event const& mark) override;

  /// Adds one call. It must not block on other work of this stream.
  template <std::invocable F>
  void enqueue(F&& f) {
    push(std::make_unique<detail::stream_call<std::decay_t<F>>>(std::forward<F>(f)));
  }

  /// Adds one call and returns a handle on its result; its exception fails the handle only.
  template <std::invocable F>
  [[nodiscard]] work<std::invoke_result_t<F>> run(
      F&& f, std::source_location site = std::source_location::current()) {
    using T = std::invoke_result_t<F>;
    promise<T> p(home(), site);
    auto handle = p.get_work();
    enqueue([p = std::move(p), f = std::forward<F>(f)]() mutable {
      std::exception_ptr e;
      try {
        if constexpr (std::is_void_v<T>) {
          f();
          p.set();
        } else {
          p.set(f());
        }
      } catch (...) {
        e = std::current_exception();
      }
      if (e) p.fail(std::move(e));  // once this thread has let go of it
    });
    return handle;
  }

  /// Where it runs what is enqueued.
  [[nodiscard]] boost::asio::any_io_executor worker() const;
  /// Marks recorded from now on do not fail by what failed before.
  void clear_failure();

 private:
  class queue;
  [[nodiscard]] detail::port_ptr const& home() const;
  void push(std::unique_ptr<detail::stream_item> item);

  std::unique_ptr<boost::asio::thread_pool> own_;
  std::shared_ptr<queue> queue_;
};

}  // namespace hocket
