// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <exception>
#include <functional>
#include <hocket/async/stream.hpp>
#include <mutex>
#include <utility>

namespace hocket {

work<> event::wait() const {
  struct relay final : detail::op_state<void>, detail::continuation {
    explicit relay(detail::op_ref of) : op_state<void>(of->home()), source(std::move(of)) {
      continuation::run = [](continuation* c) noexcept {
        boost::intrusive_ptr<relay> const self(static_cast<relay*>(c), false);
        auto const failure = self->source->engine_failure();
        self->source.reset();
        self->finish(failure ? detail::failure_from(failure) : detail::failure());
      };
    }
    std::monostate take() override { return {}; }
    void drop_value() noexcept override {}
    detail::op_ref source;
  };
  if (!op_) return {};
  boost::intrusive_ptr<relay> r(new relay(op_), false);
  r->mutable_info().operation = "event";
  r->mutable_info().site = op_->info().site;
  work<> handle{detail::op_ptr<void>(r)};
  op_->when_finished(*r.detach());
  return handle;
}

// Whoever finds the queue idle posts `turn` to the worker; a turn runs items until the queue is
// empty or an item waits for a mark, whose continuation posts the next turn.
class host_stream::queue : public std::enable_shared_from_this<queue> {
 public:
  explicit queue(boost::asio::any_io_executor worker) : worker_(std::move(worker)) {}
  ~queue() { stop(); }

  boost::asio::any_io_executor const& worker() const noexcept { return worker_; }

  void push(detail::stream_item* item) {
    {
      std::lock_guard const lock(mutex_);
      if (stopped_) {
        delete item;
        return;
      }
      (first_ == nullptr ? first_ : last_->next) = item;
      last_ = item;
      if (std::exchange(active_, true)) return;
    }
    post_turn();
  }
  // Called by an item: the turn ends after it, the continuation goes on.
  void park() noexcept { parked_ = true; }
  void resume() {
    {
      std::lock_guard const lock(mutex_);
      if (stopped_) return;
    }
    post_turn();
  }
  // The worker is gone: what has not run never will, and its marks say so.
  void stop() noexcept {
    detail::stream_item* rest = nullptr;
    {
      std::lock_guard const lock(mutex_);
      stopped_ = true;
      rest = std::exchange(first_, nullptr);
    }
    while (rest != nullptr) delete std::exchange(rest, rest->next);
  }

  void fail(std::exception_ptr e) {
    std::lock_guard const lock(mutex_);
    if (!failure_) failure_ = std::move(e);
  }
  std::exception_ptr failure() {
    std::lock_guard const lock(mutex_);
    return failure_;
  }
  void clear_failure() {
    std::lock_guard const lock(mutex_);
    failure_ = nullptr;
  }

 private:
  static constexpr int items_a_turn = 64;  // then the other work of the executor gets its turn

  void post_turn() {
    boost::asio::post(worker_, [self = shared_from_this()] { self->turn(); });
  }
  void turn() {
    for (int left = items_a_turn; left > 0; --left) {
      std::unique_ptr<detail::stream_item> item;
      {
        std::lock_guard const lock(mutex_);
        if (first_ == nullptr) {
          active_ = false;
          return;
        }
        item.reset(std::exchange(first_, first_->next));
      }
      // The next turn of a parked queue may start before this one returns: the flag is the
      // thread's.
      parked_ = false;
      try {
        item->run();
      } catch (...) {
        fail(std::current_exception());
      }
      if (std::exchange(parked_, false)) return;
    }
    post_turn();
  }
  static thread_local bool parked_;

  boost::asio::any_io_executor worker_;
  std::mutex mutex_;
  detail::stream_item* first_ = nullptr;
  detail::stream_item* last_ = nullptr;
  bool active_ = false;
  bool stopped_ = false;
  std::exception_ptr failure_;
};

thread_local bool host_stream::queue::parked_ = false;

namespace detail {

// Ends the turn of its stream and starts the next one when the mark has come.
class gate final : public continuation {
 public:
  gate(op_ref mark, std::function<void(std::exception_ptr)> open)
      : mark_(std::move(mark)), open_(std::move(open)) {
    continuation::run = [](continuation* c) noexcept {
      std::unique_ptr<gate> const self(static_cast<gate*>(c));
      self->open_(self->mark_->engine_failure());
    };
  }
  void close() { mark_->when_finished(*this); }

 private:
  op_ref mark_;
  std::function<void(std::exception_ptr)> open_;
};

}  // namespace detail

host_stream::host_stream(boost::asio::any_io_executor worker)
    : queue_(std::make_shared<queue>(std::move(worker))) {}

host_stream::host_stream()
    : own_(std::make_unique<boost::asio::thread_pool>(1)),
      queue_(std::make_shared<queue>(own_->get_executor())) {}

host_stream::~host_stream() {
  if (!own_) return;
  own_->join();
  queue_->stop();
}

boost::asio::any_io_executor host_stream::worker() const { return queue_->worker(); }
void host_stream::clear_failure() { queue_->clear_failure(); }
void host_stream::push(detail::stream_item* item) { queue_->push(item); }

event host_stream::record() {
  promise<> mark(queue_->worker());
  event e(mark.get_work());
  enqueue([mark = std::move(mark), q = queue_.get()]() mutable {
    if (auto const failure = q->failure()) {
      mark.fail(failure);
    } else {
      mark.set();
    }
  });
  return e;
}

void host_stream::wait(event const& mark) {
  if (!mark.state()) return;
  enqueue([op = mark.state(), q = queue_.get()] {
    q->park();
    auto open = [self = q->shared_from_this()](std::exception_ptr e) {
      if (e) self->fail(std::move(e));
      self->resume();
    };
    (new detail::gate(op, std::move(open)))->close();
  });
}

}  // namespace hocket
