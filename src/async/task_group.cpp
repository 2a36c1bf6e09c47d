// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <hocket/async/task_group.hpp>
#include <hocket/detail/hook.hpp>
#include <hocket/error.hpp>
#include <hocket/log.hpp>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace hocket {

namespace asio = boost::asio;

// The op behind join(): children hold it until they have ended.
class task_group::state final : public detail::op_state<void> {
 public:
  state(asio::any_io_executor ex, std::source_location site)
      : op_state<void>(detail::port_of(ex)), executor_(std::move(ex)) {
    mutable_info().operation = "task_group";
    mutable_info().site = site;
  }

  void spawn(asio::any_io_executor const& own, asio::awaitable<void> function);
  void cancel(bool by_wait) noexcept;
  work<> join();
  void abandon();
  std::size_t size() const noexcept {
    std::lock_guard const lock(mutex_);
    return size_;
  }

  std::monostate take() override { return {}; }
  void slot_emitted(detail::waiter*, std::uint32_t) override { cancel(true); }

 protected:
  void drop_value() noexcept override { error_ = nullptr; }
  void waits_ended() noexcept override { cancel(true); }

 private:
  struct child : detail::hook, std::enable_shared_from_this<child> {
    explicit child(asio::any_io_executor ex) : executor(std::move(ex)) {}
    asio::any_io_executor const executor;
    asio::cancellation_signal signal;  // touched on the executor only, once started
    bool ended = false;                // likewise
    bool started = false;              // under the group's mutex
  };
  class child_end;
  using child_ptr = std::shared_ptr<child>;

  asio::any_io_executor serial(asio::any_io_executor const& own) const;
  static void cancel_later(child_ptr c);
  void ended(child& c, std::exception_ptr e);
  bool last_one() noexcept { return joining_ && size_ == 0 && !std::exchange(complete_, true); }
  void complete();

  asio::any_io_executor const executor_;
  mutable std::mutex mutex_;
  detail::hook children_;  // those that have not ended
  std::size_t size_ = 0;
  bool joining_ = false;  // nobody outside spawns any more once all have ended
  bool complete_ = false;
  bool cancelled_ = false;
  bool wait_cancelled_ = false;
  bool abandoned_ = false;
  std::exception_ptr error_;
};

// The completion handler of a child; destroyed uncalled if the child's context dies.
class task_group::state::child_end {
 public:
  child_end(boost::intrusive_ptr<state> group, child_ptr c)
      : group_(std::move(group)), child_(std::move(c)) {}
  child_end(child_end&&) noexcept = default;
  child_end& operator=(child_end&&) = delete;
  ~child_end() {
    if (!group_) return;
    group_->ended(*child_,
                  std::make_exception_ptr(error(
                      errc::group_closed,
                      to_string(group_->info()) + ": a child was destroyed with its context")));
  }
  void operator()(std::exception_ptr e) {
    auto const group = std::move(group_);
    group->ended(*child_, std::move(e));  // the child's signal lives as long as its frame
  }

 private:
  boost::intrusive_ptr<state> group_;
  child_ptr child_;
};

asio::any_io_executor task_group::state::serial(asio::any_io_executor const& own) const {
  if (own) return own;
  if (executor_.target<asio::thread_pool::executor_type>() != nullptr ||
      detail::is_system(executor_))
    return asio::make_strand(executor_);
  return executor_;
}

void task_group::state::spawn(asio::any_io_executor const& own, asio::awaitable<void> function) {
  auto const c = std::make_shared<child>(serial(own));
  {
    std::lock_guard const lock(mutex_);
    if (complete_)
      throw error(errc::group_closed, to_string(info()) + ": spawn after all children were joined");
    if (cancelled_) return;
    children_.push_back(*c);
    ++size_;
  }
  asio::co_spawn(c->executor, std::move(function),
                 asio::bind_cancellation_slot(c->signal.slot(), child_end(this, c)));
  bool late = false;
  {
    std::lock_guard const lock(mutex_);
    c->started = true;
    late = cancelled_;
  }
  if (late) cancel_later(c);
}

void task_group::state::cancel_later(child_ptr c) {
  auto const ex = c->executor;
  asio::post(ex, [c = std::move(c)] {
    if (!c->ended) c->signal.emit(asio::cancellation_type::terminal);
  });
}

void task_group::state::cancel(bool by_wait) noexcept {
  std::vector<child_ptr> running;
  {
    std::lock_guard const lock(mutex_);
    wait_cancelled_ |= by_wait;
    if (std::exchange(cancelled_, true)) return;
    for (auto* h = children_.next; h != &children_; h = h->next) {
      auto* const c = static_cast<child*>(h);
      if (c->started) running.push_back(c->shared_from_this());
    }
  }
  for (auto& c : running) cancel_later(std::move(c));
}

void task_group::state::ended(child& c, std::exception_ptr e) {
  bool const aborted = e && detail::failure_from(e).code == operation_aborted();
  bool failed = false;
  bool last = false;
  {
    std::lock_guard const lock(mutex_);
    c.ended = true;
    c.unlink();
    --size_;
    failed = e && !(aborted && cancelled_);
    if (failed && !error_) error_ = e;
    last = last_one();
  }
  if (failed) cancel(false);
  if (last) complete();
}

void task_group::state::complete() {
  std::exception_ptr error;
  bool was_abandoned = false;
  bool was_cancelled = false;
  {
    std::lock_guard const lock(mutex_);  // somebody may cancel it still
    error = error_;
    was_abandoned = abandoned_;
    was_cancelled = wait_cancelled_;
  }
  if (error) {
    if (was_abandoned)
      log(log_level::warning, to_string(info()) + ": a child failed after its group was dropped");
    return finish(detail::failure_from(error));
  }
  finish(was_cancelled ? detail::failure{operation_aborted(), {}} : detail::failure());
}

work<> task_group::state::join() {
  bool last = false;
  {
    std::lock_guard const lock(mutex_);
    joining_ = true;
    last = last_one();
  }
  if (last) complete();
  return work<>(detail::op_ptr<void>(this));
}

void task_group::state::abandon() {
  bool last = false;
  {
    std::lock_guard const lock(mutex_);
    abandoned_ = !std::exchange(joining_, true);
    last = last_one();
  }
  cancel(false);
  if (last) complete();
}

namespace {

asio::any_io_executor not_empty(asio::any_io_executor ex) {
  if (!ex) throw error(errc::invalid_argument, "task_group: an empty executor cannot run children");
  return ex;
}

}  // namespace

task_group::task_group(asio::any_io_executor ex, std::source_location site)
    : state_(new state(not_empty(std::move(ex)), site), false) {}

task_group::~task_group() { state_->abandon(); }

void task_group::spawn(asio::awaitable<void> child) { state_->spawn({}, std::move(child)); }

void task_group::spawn(asio::any_io_executor ex, asio::awaitable<void> child) {
  state_->spawn(ex, std::move(child));
}

void task_group::cancel() { state_->cancel(false); }
work<> task_group::join() { return state_->join(); }
std::size_t task_group::size() const noexcept { return state_->size(); }

}  // namespace hocket
