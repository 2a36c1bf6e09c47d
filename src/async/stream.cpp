// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <boost/asio/thread_pool.hpp>
#include <condition_variable>
#include <exception>
#include <hocket/async/stream.hpp>
#include <hocket/detail/assert.hpp>
#include <hocket/error.hpp>
#include <mutex>
#include <utility>

namespace hocket {

work<> event::wait() const {
  struct relay final : detail::op_state<void>, detail::continuation {
    explicit relay(detail::op_ref of)
        : op_state<void>(of->home()), source(std::move(of)), followed(source.get()) {
      continuation::run = [](continuation* c) noexcept {
        boost::intrusive_ptr<relay> const self(static_cast<relay*>(c), false);
        auto const failure = self->source->engine_failure();
        self->source.reset();
        self->finish(failure ? detail::failure_from(failure) : detail::failure());
      };
    }
    std::monostate take() override { return {}; }
    void drop_value() noexcept override {}
    bool drive() override { return followed.drive(); }
    detail::op_ref source;
    detail::weak_op const followed;
  };
  if (!op_) return {};
  boost::intrusive_ptr<relay> r(new relay(op_), false);
  r->mutable_info().operation = "event";
  r->mutable_info().site = op_->info().site;
  work<> handle{detail::op_ptr<void>(r)};
  op_->when_finished(*r.detach());
  return handle;
}

// Whoever finds the queue idle starts a turn on the worker; a turn runs items until the queue is
// empty or a mark has not come, which then starts the next turn. Every turn is a wait like any
// other: it keeps the worker's context busy, and is destroyed with it.
class host_stream::queue : public std::enable_shared_from_this<queue> {
 public:
  explicit queue(boost::asio::any_io_executor worker)
      : worker_(std::move(worker)), home_(detail::port_of(worker_)) {}
  ~queue() { stop(); }

  boost::asio::any_io_executor const& worker() const noexcept { return worker_; }
  detail::port_ptr const& home() const noexcept { return home_; }

  void push(std::unique_ptr<detail::stream_item> item) {
    {
      std::lock_guard const lock(mutex_);
      if (stopped_) return;  // `item` goes after the lock, with what it owns
      auto* const raw = item.release();
      (first_ == nullptr ? first_ : last_->next) = raw;
      last_ = raw;
      if (std::exchange(active_, true)) return;
    }
    start_turn();
  }
  // What has not run never will, and its marks say so.
  void stop() noexcept {
    detail::stream_item* rest = nullptr;
    {
      std::lock_guard const lock(mutex_);
      stopped_ = true;
      rest = std::exchange(first_, nullptr);
      active_ = false;
    }
    idle_.notify_all();
    while (rest != nullptr) delete std::exchange(rest, rest->next);
  }
  // Runs what can run without a mark that has not come, then stops.
  void finish() {
    canceller parked;
    {
      std::lock_guard const lock(mutex_);
      closing_ = true;
      parked = parked_wait_;
    }
    parked.cancel();
    {
      std::unique_lock lock(mutex_);
      idle_.wait(lock, [this] { return !active_; });
    }
    stop();
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

  class turn_call {
   public:
    using executor_type = boost::asio::any_io_executor;
    explicit turn_call(std::shared_ptr<queue> q) noexcept : queue_(std::move(q)) {}
    turn_call(turn_call&&) noexcept = default;
    turn_call& operator=(turn_call&&) = delete;
    ~turn_call() {
      if (queue_) queue_->stop();  // the worker's context is gone
    }
    executor_type get_executor() const noexcept { return queue_->worker_; }
    void operator()(boost::system::error_code) {
      auto const q = std::move(queue_);
      q->turn();
    }

   private:
    std::shared_ptr<queue> queue_;
  };

  void start_turn() {
    detail::op_ptr<void> const now(new detail::signal_state(home_), false);
    now->finish();
    wait_for(now);
  }
  void wait_for(detail::op_ptr<void> const& op) {
    if (home_->closed()) return stop();  // its executor must not be touched any more
    detail::start<boost::system::error_code, void>(op, turn_call(shared_from_this()));
  }

  void turn() {
    for (int left = items_a_turn; left > 0; --left) {
      std::unique_ptr<detail::stream_item> item;
      work<> mark;
      {
        std::lock_guard const lock(mutex_);
        parked_wait_ = canceller();
        if (stopped_) return;
        if (first_ == nullptr) {
          active_ = false;
          idle_.notify_all();
          return;
        }
        if (first_->mark.ready()) {
          item.reset(std::exchange(first_, first_->next));
        } else if (!closing_) {
          mark = first_->mark.wait();
          parked_wait_ = mark.get_canceller();
        }
      }
      if (mark.valid()) return wait_for(mark.state());
      if (!item) return stop();
      run(*item);
    }
    start_turn();
  }
  // Who waits is told once this thread has let go of the exception.
  void run(detail::stream_item& item) {
    std::exception_ptr e;
    try {
      if (item.mark.state() && item.mark.state()->engine_failure())
        std::rethrow_exception(item.mark.state()->engine_failure());
      item.run();
    } catch (...) {
      e = std::current_exception();
    }
    if (e) fail(std::move(e));
  }

  boost::asio::any_io_executor const worker_;
  detail::port_ptr const home_;
  std::mutex mutex_;
  std::condition_variable idle_;
  detail::stream_item* first_ = nullptr;
  detail::stream_item* last_ = nullptr;
  canceller parked_wait_;  // of the wait for the mark that holds up the queue
  bool active_ = false;    // a turn runs, or waits for a mark
  bool closing_ = false;
  bool stopped_ = false;
  std::exception_ptr failure_;
};

host_stream::host_stream(boost::asio::any_io_executor worker) {
  if (!worker)
    throw error(errc::invalid_argument, "host_stream: an empty executor cannot run its work");
  queue_ = std::make_shared<queue>(std::move(worker));
}

host_stream::host_stream()
    : own_(std::make_unique<boost::asio::thread_pool>(1)),
      queue_(std::make_shared<queue>(own_->get_executor())) {}

host_stream::~host_stream() {
  if (!own_) return;
  HOCKET_ASSERT(!own_->get_executor().running_in_this_thread());
  queue_->finish();
  own_->stop();
  own_->join();
}

boost::asio::any_io_executor host_stream::worker() const { return queue_->worker(); }
detail::port_ptr const& host_stream::home() const { return queue_->home(); }
void host_stream::clear_failure() { queue_->clear_failure(); }
void host_stream::push(std::unique_ptr<detail::stream_item> item) { queue_->push(std::move(item)); }

event host_stream::record() {
  promise<> mark(home());
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
  auto item = std::make_unique<detail::stream_item>();
  item->mark = mark;
  push(std::move(item));
}

}  // namespace hocket
