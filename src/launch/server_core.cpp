// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "launch/server_core.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <hocket/async/detail/stop_link.hpp>
#include <hocket/async/runtime.hpp>
#include <hocket/error.hpp>
#include <hocket/log.hpp>

#include "launch/socket_address.hpp"

namespace hocket::rdzv {

// Somebody who waits for clients to leave.
class server_core::draining final : public detail::value_state<void> {
 public:
  draining(detail::port_ptr home, std::size_t clients)
      : value_state(std::move(home)), left(clients) {}
  std::size_t const left;

 protected:
  [[nodiscard]] std::string expiry_story() override {
    return fmt::format("more than {} clients are still connected", left);
  }
};

server_core::server_core(boost::asio::any_io_executor const& ex, int listening,
                         store_server_options const& options)
    : executor_(ex),
      home_(detail::port_of(ex)),
      strand_(boost::asio::make_strand(ex)),
      options_(options),
      rules_{options.secret(), options.job(), options.epoch(), options.open()},
      listening_(strand_, listening),
      address_(name_of_socket(listening)),
      is_unix_(is_unix(listening)),
      pause_(strand_),
      watch_(strand_),
      table_(options.bytes_max()) {
  listening_.native_non_blocking(true);
}

server_core::~server_core() = default;

void server_core::start() {
  if (rules_.secret.empty() && !is_unix_)
    log(log_level::info,
        fmt::format("the store at {} has no secret: whoever reaches it may use it", address_));
  boost::asio::post(strand_, [self = shared_from_this()] { self->wait_for_client(); });
}

work<> server_core::set(std::string key, std::string value, std::source_location site) {
  boost::intrusive_ptr<detail::value_state<void>> op(new detail::value_state<void>(home_), false);
  op->mutable_info().operation = "store.set";
  op->mutable_info().site = site;
  work<> handle{detail::op_ptr<void>(op)};
  boost::asio::post(strand_, [self = shared_from_this(), op, key = "/" + key,
                              value = std::move(value)]() mutable {
    try {
      self->table_.set(key, std::move(value));
    } catch (error const&) {
      return op->finish(detail::failure_from(std::current_exception()));
    }
    self->table_.settle();
    op->finish();
  });
  return handle;
}

work<> server_core::drained(std::size_t left, op_options const& options,
                            std::source_location site) {
  boost::intrusive_ptr<draining> op(new draining(home_, left), false);
  op->mutable_info().operation = "store.drained";
  op->mutable_info().site = site;
  work<> handle{detail::op_ptr<void>(op)};
  auto const limit = options.deadline().value_or(clock::duration::max());
  if (limit != clock::duration::max()) runtime::process().handle().arm(*op, limit);
  detail::cancel_on_stop(*op, options.stop());
  boost::asio::post(strand_, [self = shared_from_this(), op] {
    self->draining_.push_back(op);
    self->tell_drained();
  });
  return handle;
}

void server_core::close() noexcept {
  if (home_->closed()) return;
  boost::asio::post(strand_, [self = shared_from_this()] { self->close_here(); });
}

void server_core::close_here() noexcept {
  if (std::exchange(is_closed_, true)) return;
  boost::system::error_code ignored;
  listening_.close(ignored);
  pause_.cancel();
  watch_.cancel();
  while (!connections_.empty()) connections_.begin()->second->drop();
  tell_drained();
}

void server_core::wait_for_client() {
  if (is_closed_) return;
  listening_.async_wait(descriptor::wait_read,
                        [self = shared_from_this()](boost::system::error_code const& e) {
                          if (!e) self->accept_all();
                        });
}

void server_core::accept_all() {
  for (int n = 0; n < 64 && !is_closed_; ++n) {
    int const socket =
        ::accept4(listening_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket >= 0) {
      admit(socket);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      log(log_level::warning, fmt::format("the store at {} cannot accept a client: {}", address_,
                                          boost::system::system_category().message(errno)));
      return pause();
    }
  }
  wait_for_client();
}

// No descriptor or memory for a client: those who are connected may give some back.
void server_core::pause() {
  pause_.expires_after(std::chrono::milliseconds(100));
  pause_.async_wait([self = shared_from_this()](boost::system::error_code const& e) {
    if (!e) self->wait_for_client();
  });
}

void server_core::admit(int socket) {
  auto const strangers = static_cast<std::size_t>(
      std::ranges::count_if(connections_, [](auto const& c) { return !c.second->is_greeted(); }));
  bool const is_full = connections_.size() >= options_.connections_max() ||
                       strangers >= std::max<std::size_t>(options_.connections_max() / 4, 1);
  bool const is_foreign = is_unix_ && !is_own_user(socket);
  if (is_full || is_foreign) {
    log(log_level::warning,
        fmt::format("the store at {} refuses a client: {}", address_,
                    is_full ? fmt::format("{} are connected, {} of them in their hello",
                                          connections_.size(), strangers)
                            : "it belongs to another user"));
    ::close(socket);
    return;
  }
  set_tcp_options(socket);
  auto const client = std::make_shared<store_connection>(*this, socket);
  connections_.emplace(client.get(), client);
  client->start();
}

void server_core::forget(store_connection& c) noexcept {
  connections_.erase(&c);
  if (!draining_.empty()) tell_drained();
}

// Garbage can come often: one line a server is a warning, the others are for who debugs.
void server_core::report(store_session const& s, std::string const& why) noexcept {
  auto const level = std::exchange(warned_, true) ? log_level::debug : log_level::warning;
  if (!log_enabled(level)) return;
  try {
    log(level, fmt::format("the store at {} drops {}: {}", address_, s.peer(), why));
  } catch (std::exception const&) {
  }
}

void server_core::watch_time() {
  if (is_watching_ || is_closed_) return;
  is_watching_ = true;
  watch_.expires_after(std::min(options_.hello_limit(), options_.transfer_limit()) / 4 +
                       std::chrono::milliseconds(1));
  watch_.async_wait([self = shared_from_this()](boost::system::error_code const& e) {
    self->is_watching_ = false;
    if (!e) self->check_time();
  });
}

void server_core::check_time() {
  auto const now = store_connection::clock::now();
  bool is_any_busy = false;
  std::vector<std::shared_ptr<store_connection>> all;
  for (auto const& c : connections_) all.push_back(c.second);
  for (auto const& c : all) {
    c->check_time(now);
    is_any_busy = is_any_busy || (connections_.contains(c.get()) && !c->is_at_rest());
  }
  if (is_any_busy) watch_time();
}

void server_core::tell_drained() {
  std::erase_if(draining_, [this](auto const& op) {
    bool const done = is_closed_ || connections_.size() <= op->left;
    if (done) op->finish();
    return done || op->settled();
  });
}

}  // namespace hocket::rdzv

namespace hocket {

store_server::store_server(boost::asio::any_io_executor const& ex, int listening,
                           store_server_options const& options)
    : core_(std::make_shared<rdzv::server_core>(ex, listening, options)) {
  core_->start();
}

store_server::~store_server() { close(); }

std::string const& store_server::address() const noexcept { return core_->address(); }

work<> store_server::set(std::string key, std::string value, std::source_location site) {
  return core_->set(std::move(key), std::move(value), site);
}

work<> store_server::drained(std::size_t left, op_options const& options,
                             std::source_location site) {
  return core_->drained(left, options, site);
}

void store_server::close() noexcept { core_->close(); }

}  // namespace hocket
