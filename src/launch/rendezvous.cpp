// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/basic_resolver.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <hocket/async/detail/stop_link.hpp>
#include <hocket/async/detail/then.hpp>
#include <hocket/error.hpp>
#include <hocket/launch/rendezvous.hpp>
#include <hocket/launch/tcp_store.hpp>
#include <hocket/log.hpp>
#include <vector>

#include "launch/socket_address.hpp"

namespace hocket {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::ip::tcp;
using endpoint = asio::generic::stream_protocol::endpoint;
using boost::system::error_code;
using steady = std::chrono::steady_clock;

// How long the port of a store that has just been closed here may still be taken.
constexpr auto port_patience = 2s;

std::string unix_name_of(launch_options const& o) {
  return fmt::format("hocket/{}/{}", ::geteuid(), o.job());
}

tcp_store_options client_options(launch_options const& o) {
  tcp_store_options all;
  all.secret(o.secret()).job(o.job()).epoch(o.epoch()).rank(o.rank()).timeout(o.timeout());
  all.plain(o.agent_store() && o.secret().empty());
  if (o.master_host().empty())
    all.unix_name(unix_name_of(o));
  else
    all.address(o.master_host(), o.master_port());
  return all;
}

// Becomes the rendezvous of the rank that hosts the store.
class opening final : public detail::value_state<rendezvous> {
 public:
  opening(detail::port_ptr home, std::string address)
      : value_state(std::move(home)), address_(std::move(address)) {}
  [[nodiscard]] std::stop_token stopped() const { return stop_.get_token(); }

 protected:
  void waits_ended() noexcept override { stop_.request_stop(); }
  [[nodiscard]] std::string expiry_story() override {
    return "the store at " + address_ + " is not served yet";
  }

 private:
  std::string const address_;
  std::stop_source stop_;
};

using opening_ptr = boost::intrusive_ptr<opening>;

// Where rank 0 listens: at the addresses that the master's name has here. Many systems give their
// own name an address of the loopback; then other hosts could not come, so all addresses serve.
asio::awaitable<std::vector<endpoint>> places_to_listen(launch_options o) {
  std::vector<endpoint> places;
  if (o.master_host().empty()) {
    places.push_back(rdzv::abstract_endpoint(unix_name_of(o)));
    co_return places;
  }
  error_code failed;
  auto const numeric = asio::ip::make_address(rdzv::bare_host(o.master_host()), failed);
  if (!failed) {
    places.emplace_back(tcp::endpoint(numeric, o.master_port()));
    co_return places;
  }
  auto const ex = co_await asio::this_coro::executor;
  tcp::resolver resolver(ex);
  auto const service = std::to_string(o.master_port());
  auto const found =
      co_await resolver.async_resolve(o.master_host(), service, tcp::resolver::numeric_service,
                                      asio::redirect_error(asio::use_awaitable, failed));
  if (failed)
    throw error(failed, fmt::format("MASTER_ADDR: the name {} has no address here: {}",
                                    o.master_host(), failed.message()));
  bool is_loopback = true;
  for (auto const& entry : found) {
    is_loopback = is_loopback && entry.endpoint().address().is_loopback();
    places.emplace_back(entry.endpoint());
  }
  if (is_loopback && o.master_host() != "localhost" && o.local_size() < o.size()) {
    places.clear();
    places.emplace_back(tcp::endpoint(tcp::v6(), o.master_port()));
    places.emplace_back(tcp::endpoint(tcp::v4(), o.master_port()));
  }
  co_return places;
}

// The first place that can be listened at; -1 and the reason if there is none.
int listen_at_one(std::vector<endpoint> const& places, std::exception_ptr& why, error_code& code) {
  for (auto const& place : places) {
    try {
      return rdzv::listen_at(place);
    } catch (error const& e) {
      why = std::current_exception();
      code = e.code();
    }
  }
  return -1;
}

asio::awaitable<int> listen(launch_options o, std::stop_token stop) {
  auto const places = co_await places_to_listen(o);
  auto const ex = co_await asio::this_coro::executor;
  asio::basic_waitable_timer<steady> pause(ex);
  auto const until = steady::now() + port_patience;
  for (;;) {
    std::exception_ptr why;
    error_code code;
    int const fd = listen_at_one(places, why, code);
    if (fd >= 0) co_return fd;
    bool const may_pass = code == boost::system::errc::address_in_use && steady::now() < until;
    if (!may_pass || stop.stop_requested()) std::rethrow_exception(why);
    pause.expires_after(20ms);
    co_await pause.async_wait(asio::use_awaitable);
  }
}

asio::awaitable<void> host(launch_options o, op_options call, opening_ptr op) {
  auto const ex = co_await asio::this_coro::executor;
  auto const stop = op->stopped();
  int const fd = co_await listen(o, stop);
  store_server_options options;
  options.secret(o.secret()).job(o.job()).epoch(o.epoch()).open(o.secret().empty());
  auto server = std::make_shared<store_server>(ex, fd, options);
  call.stop(stop);
  auto connecting = connect_store(ex, client_options(o), call);
  auto client = co_await std::move(connecting);
  op->store(rendezvous(std::move(client), std::move(server)));
  op->finish();
}

work<rendezvous> open_as_host(asio::any_io_executor const& ex, launch_options const& o,
                              op_options const& call, std::source_location site) {
  auto const client = client_options(o);
  auto address = client.unix_name().empty() ? rdzv::join_host_port(client.host(), client.port())
                                            : "unix:" + client.unix_name();
  opening_ptr const op(new opening(detail::port_of(ex), std::move(address)), false);
  op->mutable_info().operation = "open_store";
  op->mutable_info().site = site;
  work<rendezvous> handle{detail::op_ptr<rendezvous>(op)};
  auto const limit = call.deadline().value_or(o.timeout());
  if (limit != clock::duration::max()) runtime::process().handle().arm(*op, limit);
  detail::cancel_on_stop(*op, call.stop());
  auto inner = op_options().deadline(limit);
  asio::co_spawn(ex, host(o, std::move(inner), op), [op](std::exception_ptr e) {
    if (e) op->finish(detail::failure_from(e));
  });
  return handle;
}

}  // namespace

work<> rendezvous::leave(op_options const& options, std::source_location site) {
  store_.reset();
  if (!server_) return make_ready_work();
  auto const server = std::exchange(server_, nullptr);
  return detail::then(server->drained(0, options, site),
                      [server](std::monostate) { server->close(); });
}

work<rendezvous> open_store(boost::asio::any_io_executor const& ex, launch_options const& options,
                            op_options const& call, std::source_location site) {
  try {
    options.check();
  } catch (error const& e) {
    return detail::failed_work<rendezvous>(errc::invalid_argument, "open_store", e.what(), site);
  }
  bool const is_alone = options.size() == 1 && options.master_host().empty();
  if (is_alone) return make_ready_work(detail::port_of(ex), rendezvous());
  if (options.rank() == 0 && !options.agent_store()) return open_as_host(ex, options, call, site);
  return detail::then(connect_store(ex, client_options(options), call, site),
                      [](std::shared_ptr<store> s) { return rendezvous(std::move(s)); });
}

}  // namespace hocket
