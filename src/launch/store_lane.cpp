// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "launch/store_lane.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstring>

#include "group/handshake.hpp"
#include "launch/socket_address.hpp"
#include "launch/store_client.hpp"

namespace hocket::rdzv {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr asio::use_awaitable_t<strand> resume;
constexpr auto pause_min = 10ms;
constexpr auto pause_max = 500ms;
constexpr auto attempt_one = 10s;  // for the only address of the server
constexpr auto attempt_each = 2s;  // where there are others to try

// Requests that are sent before their answers are read must fit in the sockets' buffers, or both
// sides might wait in their sends.
constexpr std::size_t batch_bytes = 16 * 1024;

// A ping that an old server takes for the length of a key which it refuses at once: the third byte
// of the number is the last one of that length.
constexpr std::uint32_t ping_number = 0x00F04321;

std::size_t size_of(request const& r) {
  std::size_t bytes = 32;
  for (auto const& key : r.keys) bytes += key.size() + 8;
  for (auto const& value : r.values) bytes += value.size() + 8;
  return bytes;
}

request make_request(verb v, std::vector<std::string> keys = {}) {
  request r;
  r.what = v;
  r.keys = std::move(keys);
  return r;
}

}  // namespace

store_lane::store_lane(store_client& client)
    : client_(client),
      socket_(client.own_strand()),
      resolver_(client.own_strand()),
      pause_(client.own_strand()),
      attempt_(client.own_strand()) {}

void store_lane::add(call_ptr call) {
  queue_.push_back(std::move(call));
  start();
}

bool store_lane::has(store_call const& call) const noexcept {
  auto const is_it = [&](call_ptr const& c) { return c == &call; };
  return std::ranges::any_of(queue_, is_it) || std::ranges::any_of(asked_, is_it);
}

bool store_lane::is_wanted() const noexcept {
  auto const wanted = [](call_ptr const& c) { return c->is_wanted(); };
  return std::ranges::any_of(queue_, wanted) || std::ranges::any_of(asked_, wanted);
}

void store_lane::ended(store_call& call) {
  auto const found = std::ranges::find_if(queue_, [&](auto const& c) { return c == &call; });
  if (found != queue_.end()) {
    auto const keep = *found;
    queue_.erase(found);
    keep->let_go();
  }
  if (!is_wanted()) stop();
}

void store_lane::close(errc code, std::string const& why) noexcept {
  for (auto* const list : {&asked_, &queue_}) {
    auto const all = std::exchange(*list, {});
    for (auto const& call : all) call->fail(code, why);
  }
  stop();
  if (!is_running_) disconnect();
}

// Whatever the coroutine waits for ends now; it finds out that nobody wants an answer.
void store_lane::stop() noexcept {
  if (!is_running_) return;
  was_stopped_ = true;
  resolver_.cancel();
  pause_.cancel();
  disconnect();
}

void store_lane::disconnect() noexcept {
  ++attempts_;
  attempt_.cancel();
  error_code ignored;
  socket_.close(ignored);
  is_connected_ = false;
  unread_ = {};
}

void store_lane::start() {
  if (is_running_) return;
  is_running_ = true;
  auto done = [self = shared_from_this(),
               client = client_.shared_from_this()](std::exception_ptr e) {
    self->is_running_ = false;
    if (e) client->lose(errc::store_lost, self->client_.story_of(e));
    client->lane_rests();
    if (self->is_wanted()) self->start();
  };
  asio::co_spawn(client_.own_strand(), run(), std::move(done));
}

store_lane::awaitable<void> store_lane::run() {
  while (is_wanted()) {
    was_stopped_ = false;
    bool done = is_connected_;
    if (!done) done = co_await dial();
    if (done) done = co_await exchange();
    if (done) continue;
    bool const is_loss = is_connected_ && !was_stopped_;
    auto const why = failure_.message();
    disconnect();
    if (is_loss)
      client_.lose(errc::store_lost,
                   fmt::format("the store at {} is gone: {}", client_.address(), why));
    for (auto const& call : std::exchange(asked_, {})) call->let_go();
  }
}

// -- connecting

store_lane::awaitable<bool> store_lane::dial() {
  bool const done = co_await try_all();
  client_.note_over();
  co_return done;
}

store_lane::awaitable<bool> store_lane::try_all() {
  std::chrono::milliseconds pause = pause_min;
  while (is_wanted() && !client_.is_lost()) {
    endpoints const all = co_await resolve();
    bool is_refused = !all.empty();
    for (auto const& at : all) {
      if (!is_wanted() || client_.is_lost()) co_return false;
      begin_attempt(all.size());
      was_stopped_ = false;
      bool const done = co_await try_endpoint(at);
      if (done && !was_stopped_) {  // else the socket was closed after its last answer
        attempt_.cancel();
        ++attempts_;
        is_connected_ = true;
        co_return true;
      }
      is_refused = is_refused && failure_ == asio::error::connection_refused;
      disconnect();
    }
    if (!is_wanted()) co_return false;
    if (is_refused && client_.spoken()) {  // it was there, and nobody listens any more
      client_.lose(errc::store_lost, fmt::format("the store at {} is gone: {}", client_.address(),
                                                 failure_.message()));
      co_return false;
    }
    pause_.expires_after(pause);
    error_code ignored;
    co_await pause_.async_wait(asio::redirect_error(resume, ignored));
    pause = std::min(pause * 3 / 2, std::chrono::milliseconds(pause_max));
  }
  co_return false;
}

// The addresses of the host, those of the two families by turns.
store_lane::awaitable<store_lane::endpoints> store_lane::resolve() {
  auto const& o = client_.options();
  endpoints all;
  if (!o.unix_name().empty()) {
    all.push_back(abstract_endpoint(o.unix_name()));
    co_return all;
  }
  client_.note_phase("looking up " + o.host());
  error_code failed;
  auto const numeric = asio::ip::make_address(o.host(), failed);
  if (!failed) {
    all.emplace_back(asio::ip::tcp::endpoint(numeric, o.port()));
    co_return all;
  }
  auto const service = std::to_string(o.port());
  auto const found = co_await resolver_.async_resolve(o.host(), service, resolver::numeric_service,
                                                      asio::redirect_error(resume, failed));
  if (failed) {
    client_.note_trouble(fmt::format("the name {} has no address: {}", o.host(), failed.message()));
    co_return all;
  }
  endpoints others;
  for (auto const& entry : found) {
    bool const is_first_family =
        all.empty() || entry.endpoint().protocol().family() == all.front().protocol().family();
    (is_first_family ? all : others).emplace_back(entry.endpoint());
  }
  for (std::size_t i = 0; i < others.size(); ++i) {
    auto const place = std::min(2 * i + 1, all.size());
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(place), others[i]);
  }
  co_return all;
}

void store_lane::begin_attempt(std::size_t addresses) {
  attempt_limit_ = addresses > 1 ? std::chrono::milliseconds(attempt_each) : attempt_one;
  attempt_.expires_after(attempt_limit_);
  auto const number = ++attempts_;
  attempt_.async_wait([self = shared_from_this(), client = client_.shared_from_this(),
                       number](error_code const& e) {
    if (e || self->attempts_ != number) return;
    error_code ignored;
    self->socket_.close(ignored);
  });
}

bool store_lane::note_failure(endpoint const& at, std::string_view doing) {
  auto const why = failure_ == asio::error::operation_aborted
                       ? fmt::format("no answer within {} ms", attempt_limit_.count())
                       : failure_.message();
  client_.note_trouble(fmt::format("{} {}: {}", doing, name_of_endpoint(at), why));
  return false;
}

bool store_lane::open_socket(endpoint const& at) {
  error_code ignored;
  socket_.close(ignored);
  int const family = at.protocol().family();
  int const fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  failure_.clear();
  if (fd < 0) {
    failure_ = error_code(errno, boost::system::system_category());
    return note_failure(at, "no socket for");
  }
  socket_.assign(asio::generic::stream_protocol(family, 0), fd, failure_);
  if (family != AF_UNIX) set_tcp_options(fd);
  return !failure_;
}

store_lane::awaitable<bool> store_lane::connect(endpoint at) {
  client_.note_phase("connecting to " + name_of_endpoint(at));
  if (!open_socket(at)) co_return false;
  co_await socket_.async_connect(at, asio::redirect_error(resume, failure_));
  if (failure_) co_return note_failure(at, "connecting to");
  if (at.protocol().family() == AF_UNIX && !is_own_user(socket_.native_handle())) {
    client_.lose(errc::mismatch,
                 fmt::format("the store at {} belongs to another user", client_.address()));
    co_return false;
  }
  co_return true;
}

store_lane::awaitable<bool> store_lane::try_endpoint(endpoint at) {
  bool done = co_await connect(at);
  if (!done) co_return false;
  client_.note_phase("waiting for the hello's answer of " + name_of_endpoint(at));
  if (!client_.options().plain()) {
    done = co_await greet_hocket(at);
    co_return done;
  }
  auto const known = client_.spoken();
  if (known != dialect::from_zero) {
    done = co_await greet_current(at);
    if (done || client_.is_lost() || known == dialect::current) co_return done;
    done = co_await connect(at);
    if (!done) co_return false;
  }
  done = co_await greet_from_zero(at);
  co_return done;
}

store_lane::awaitable<bool> store_lane::send(std::string_view bytes) {
  co_await asio::async_write(socket_, asio::buffer(bytes), asio::transfer_all(),
                             asio::redirect_error(resume, failure_));
  co_return !failure_;
}

store_lane::awaitable<bool> store_lane::receive(std::string& to, std::size_t bytes) {
  to.resize(bytes);
  co_await asio::async_read(socket_, asio::buffer(to), asio::transfer_all(),
                            asio::redirect_error(resume, failure_));
  co_return !failure_;
}

store_lane::awaitable<bool> store_lane::greet_hocket(endpoint at) {
  auto const& o = client_.options();
  handshake::hello hello;
  hello.job = o.job();
  hello.epoch = o.epoch();
  hello.from = o.rank() < 0 ? handshake::nobody : static_cast<std::uint32_t>(o.rank());
  hello.random = handshake::make_nonce();
  auto const sent = handshake::encode(hello);
  bool done = co_await send(sent);
  std::string answer;
  if (done) done = co_await receive(answer, handshake::challenge_bytes);
  if (!done) co_return note_failure(at, "hello to");
  auto const proof = client_.check_challenge(hello, sent, answer);
  if (!proof) co_return false;
  done = co_await send(handshake::view(*proof));
  if (done) done = co_await receive(answer, 1);
  if (!done) co_return note_failure(at, "proof to");
  client_.speak(dialect::hocket);
  co_return true;
}

store_lane::awaitable<bool> store_lane::greet_current(endpoint at) {
  std::string out;
  auto hello = make_request(verb::validate);
  hello.number = validate_magic;
  encode(hello, numbering::current, out);
  auto ping = make_request(verb::ping);
  ping.number = ping_number;
  encode(ping, numbering::current, out);
  bool done = co_await send(out);
  std::string answer;
  if (done) done = co_await receive(answer, sizeof ping_number);
  if (!done) co_return note_failure(at, "validate and ping to");
  std::uint32_t number = 0;
  std::memcpy(&number, answer.data(), sizeof number);
  if (number == secret_wanted) {
    client_.lose(errc::mismatch,
                 fmt::format("the store at {} wants this job's secret (HOCKET_SECRET_FD or "
                             "HOCKET_SECRET_FILE), and there is none here",
                             client_.address()));
    co_return false;
  }
  if (number != ping_number) {
    client_.lose(errc::mismatch, fmt::format("what listens at {} is no TCPStore: it answers a "
                                             "ping of {:#x} with {:#x}",
                                             client_.address(), ping_number, number));
    co_return false;
  }
  client_.speak(dialect::current);
  co_return true;
}

// Old servers have no hello: their number of keys shows that they are there.
store_lane::awaitable<bool> store_lane::greet_from_zero(endpoint at) {
  std::string out;
  encode(make_request(verb::count_keys), numbering::from_zero, out);
  bool done = co_await send(out);
  std::string answer;
  if (done) done = co_await receive(answer, sizeof(std::int64_t));
  if (!done)
    co_return note_failure(at, "neither a new nor an old TCPStore greeting is answered by");
  client_.speak(dialect::from_zero);
  co_return true;
}

// -- asking

// Moves calls from the queue to those that are asked, and their requests into `to`.
void store_lane::collect(std::string& to) {
  auto const spoken = client_.spoken().value_or(dialect::current);
  auto const n = spoken == dialect::from_zero ? numbering::from_zero : numbering::current;
  while (!queue_.empty()) {
    auto const call = queue_.front();
    if (!asked_.empty() && to.size() + size_of(call->ask) > batch_bytes) return;
    queue_.pop_front();
    if (!call->is_wanted()) {
      call->let_go();
      continue;
    }
    asked_.push_back(call);
    auto const& ask = call->ask;
    if (ask.what == verb::get && spoken != dialect::hocket) {
      encode(make_request(verb::wait, ask.keys), n, to);  // PyTorch's get does not wait
    } else {
      encode(ask, n, to);
      // A set is not answered: that it has been done shows in the answer to what follows it.
      if (ask.what == verb::set) encode(make_request(verb::check, ask.keys), n, to);
    }
  }
}

store_lane::awaitable<bool> store_lane::exchange() {
  std::string out;
  collect(out);
  bool done = co_await send(out);
  while (done && !asked_.empty()) {
    auto const call = asked_.front();
    auto const what = call->ask.what;
    auto const spoken = client_.spoken().value_or(dialect::current);
    if (what == verb::get && spoken != dialect::hocket) {
      done = co_await answer(reply_form::byte);
      if (!done) co_return false;
      out.clear();
      encode(call->ask, spoken == dialect::from_zero ? numbering::from_zero : numbering::current,
             out);
      done = co_await send(out);
      if (!done) co_return false;
    }
    auto const form = what == verb::set ? reply_form::byte : form_of(what);
    done = co_await answer(form);
    if (!done || asked_.empty()) co_return false;
    asked_.pop_front();
    call->deliver(replies_.take());
  }
  co_return done;
}

store_lane::awaitable<bool> store_lane::answer(reply_form form) {
  replies_.expect(form);
  while (!replies_.is_whole()) {
    if (unread_.empty()) {
      auto const got = co_await socket_.async_read_some(asio::buffer(inbox_),
                                                        asio::redirect_error(resume, failure_));
      if (failure_) co_return false;
      unread_ = std::string_view(inbox_.data(), got);
    }
    try {
      unread_ = replies_.feed(unread_);
    } catch (error const& e) {
      failure_ = e.code();
      co_return false;
    }
  }
  co_return true;
}

}  // namespace hocket::rdzv
