// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "resident.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/query.hpp>
#include <hocket/async/detail/deliver.hpp>
#include <hocket/async/detail/op_state.hpp>
#include <map>
#include <mutex>
#include <utility>

namespace hocket {

namespace asio = boost::asio;

// Made after the services that its objects use, so that it is shut down before them.
class resident::house final : public asio::execution_context::service {
 public:
  using key_type = house;
  static asio::execution_context::id id;
  explicit house(asio::execution_context& context) : service(context) {}

  std::uint64_t add(std::shared_ptr<void> what) {
    std::lock_guard const lock(mutex_);
    all_.emplace(++last_, std::move(what));
    return last_;
  }
  void remove(std::uint64_t number) {
    std::shared_ptr<void> what;  // let go after the lock
    std::lock_guard const lock(mutex_);
    auto const at = all_.find(number);
    if (at == all_.end()) return;
    what = std::move(at->second);
    all_.erase(at);
  }

 private:
  void shutdown() override {
    std::map<std::uint64_t, std::shared_ptr<void>> all;
    {
      std::lock_guard const lock(mutex_);
      all.swap(all_);
    }
  }

  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<void>> all_;
  std::uint64_t last_ = 0;
};

asio::execution_context::id resident::house::id;

resident::resident(asio::any_io_executor const& ex, std::shared_ptr<void> what)
    : house_(asio::use_service<house>(asio::query(ex, asio::execution::context))),
      key_(house_.add(std::move(what))),
      home_(detail::port_of(ex)) {}

resident::~resident() {
  if (detail::runs_here(home_.get())) {
    house_.remove(key_);
    return;
  }
  detail::op_ptr<void> const now(new detail::signal_state(home_.get()), false);
  now->finish();
  // Never called if the context is gone, and the object with it.
  detail::start<boost::system::error_code, void>(
      now, [at = &house_, key = key_](boost::system::error_code) { at->remove(key); });
}

}  // namespace hocket
