// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "launch/store_client.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <hocket/async/detail/deliver.hpp>
#include <hocket/async/detail/op_state.hpp>
#include <hocket/async/detail/stop_link.hpp>
#include <hocket/async/promise.hpp>
#include <hocket/error.hpp>
#include <new>
#include <utility>

#include "launch/socket_address.hpp"

namespace hocket::rdzv {
namespace {

constexpr std::size_t idle_lanes_max = 3;  // the main one among them

// What follows the user's key in PyTorch's store, too: its own keys have a slash before them.
std::string shown(std::string const& key) { return key.substr(key.empty() ? 0 : 1); }

std::string names(request const& r) {
  if (r.keys.empty()) return "no key";
  auto const first = fmt::format("\"{}\"", shown(r.keys.front()));
  return r.keys.size() == 1 ? first : fmt::format("{} and {} more", first, r.keys.size() - 1);
}

std::string address_of(tcp_store_options const& o) {
  return o.unix_name().empty() ? join_host_port(o.host(), o.port()) : "unix:" + o.unix_name();
}

tcp_store_options without_brackets(tcp_store_options o) {
  o.address(bare_host(o.host()), o.port());
  return o;
}

}  // namespace

void store_call::fail(errc code, std::string const& why) noexcept {
  op().finish(detail::make_failure(make_error_code(code), to_string(op().info()) + ": " + why));
}

void store_call::let_go() noexcept { op().finish(detail::failure{operation_aborted(), nullptr}); }

void store_call::tell_client() noexcept {
  // By the client's context, if there still is one: its last handle must not be let go elsewhere.
  try {
    detail::op_ptr<void> const now(new detail::signal_state(op().home()), false);
    now->finish();
    detail::start<boost::system::error_code, void>(
        now, [to = client_, keep = call_ptr(*this)](boost::system::error_code) {
          if (auto const client = to.lock()) client->call_ended(*keep);
        });
  } catch (std::bad_alloc const&) {  // the answer comes, and nobody wants it
  }
}

std::string store_call::describe_expiry() noexcept {
  auto const client = client_.lock();
  return client ? client->expiry_of(ask) : "the deadline passed";
}

store_client::store_client(boost::asio::any_io_executor const& ex, tcp_store_options const& options)
    : executor_(ex),
      home_(detail::port_of(ex)),
      options_(without_brackets(options)),
      runtime_(options.runtime() ? *options.runtime() : runtime::process().handle()),
      address_(address_of(options_)),
      process_(::getpid()),
      strand_(boost::asio::make_strand(ex)) {}

store_client::~store_client() {
  for (auto const& call : incoming_) call->fail(errc::group_closed, "the store was dropped");
  for (auto const& lane : lanes_) lane->close(errc::group_closed, "the store was dropped");
}

bool store_client::is_own_process() const noexcept { return ::getpid() == process_; }

void store_client::submit(call_ptr call) {
  {
    std::lock_guard const lock(mutex_);
    incoming_.push_back(std::move(call));
    if (incoming_.size() > 1) return;  // what was posted for the first one takes this, too
  }
  boost::asio::post(strand_, [self = shared_from_this()] { self->take_incoming(); });
}

void store_client::take_incoming() {
  std::vector<call_ptr> all;
  {
    std::lock_guard const lock(mutex_);
    all.swap(incoming_);
  }
  for (auto const& call : all) place(call);
}

void store_client::place(call_ptr call) {
  if (loss_) return call->fail(loss_->code, loss_->why);
  if (!call->is_wanted()) return call->let_go();
  if (lanes_.empty()) lanes_.push_back(std::make_shared<store_lane>(*this));
  if (!call->waits()) return lanes_.front()->add(std::move(call));
  auto const idle = std::find_if(lanes_.begin() + 1, lanes_.end(),
                                 [](auto const& lane) { return lane->is_idle(); });
  if (idle != lanes_.end()) return (*idle)->add(std::move(call));
  lanes_.push_back(std::make_shared<store_lane>(*this));
  lanes_.back()->add(std::move(call));
}

void store_client::lane_rests() {
  auto const idle = std::ranges::count_if(lanes_, [](auto const& l) { return l->is_idle(); });
  auto extra = static_cast<std::ptrdiff_t>(idle) - static_cast<std::ptrdiff_t>(idle_lanes_max);
  for (auto at = lanes_.begin(); extra > 0 && at != lanes_.end();) {
    bool const goes = at != lanes_.begin() && (*at)->is_idle();
    at = goes ? lanes_.erase(at) : at + 1;
    if (goes) --extra;
  }
}

void store_client::call_ended(store_call& call) noexcept {
  if (home_->closed()) return;
  boost::asio::post(strand_, [self = shared_from_this(), keep = call_ptr(call)] {
    for (auto const& lane : self->lanes_)
      if (lane->has(*keep)) return lane->ended(*keep);
  });
}

void store_client::close() noexcept {
  if (home_->closed()) return;
  boost::asio::post(strand_, [self = shared_from_this()] {
    self->take_incoming();
    self->lose(errc::group_closed, "the store was dropped");
  });
}

void store_client::lose(errc code, std::string why) noexcept {
  if (!loss_) loss_ = loss{code, std::move(why)};
  auto const all = lanes_;
  for (auto const& lane : all) lane->close(loss_->code, loss_->why);
}

void store_client::speak(dialect d) { dialect_ = d; }

void store_client::note_phase(std::string phase) noexcept {
  std::lock_guard const lock(mutex_);
  phase_ = std::move(phase);
}

void store_client::note_trouble(std::string trouble) noexcept {
  std::lock_guard const lock(mutex_);
  trouble_ = std::move(trouble);
}

void store_client::note_over() noexcept {
  std::lock_guard const lock(mutex_);
  phase_.clear();
  trouble_.clear();
}

std::string store_client::story_of(std::exception_ptr const& e) const {
  try {
    std::rethrow_exception(e);
  } catch (std::exception const& x) {
    return fmt::format("talking to the store at {}: {}", address_, x.what());
  }
}

std::string store_client::expiry_of(request const& r) noexcept {
  std::lock_guard const lock(mutex_);
  auto const about = r.keys.empty() ? std::string() : names(r) + ": ";
  if (!phase_.empty() || !trouble_.empty())
    return fmt::format("{}the store at {} does not answer ({}{}{})", about, address_, phase_,
                       phase_.empty() || trouble_.empty() ? "" : "; before that, ", trouble_);
  if (r.what == verb::get || r.what == verb::wait)
    return fmt::format("{}not yet there in the store at {}", about, address_);
  return fmt::format("{}the store at {} has not answered", about, address_);
}

std::string store_client::refusal_of(request const& r, op_options const& options) const {
  if (!is_own_process())
    return fmt::format("the store at {} was connected by process {}, and {} is a fork of it",
                       address_, process_, ::getpid());
  if (options.after().state())
    return "a call of a store takes no mark to come after: await that first";
  if (r.keys.size() > keys_max)
    return fmt::format("{} keys, at most {} in one call", r.keys.size(), keys_max);
  std::size_t total = 0;
  for (auto const& key : r.keys) {
    if (key.size() > key_bytes_max)
      return fmt::format("a key of {} bytes, at most {}", key.size() - 1, key_bytes_max - 1);
    total += key.size();
  }
  for (auto const& value : r.values)
    if (value.size() > value_bytes_max)
      return fmt::format("{}: a value of {} bytes, at most {}", names(r), value.size(),
                         value_bytes_max);
  if (total > request_bytes_max)
    return fmt::format("{} keys of {} bytes together, at most {}", r.keys.size(), total,
                       request_bytes_max);
  return {};
}

std::optional<handshake::proof> store_client::check_challenge(handshake::hello const& said,
                                                              std::string_view sent,
                                                              std::string_view answer) {
  using handshake::side;
  auto const refuse = [this](std::string const& why) {
    lose(errc::mismatch, fmt::format("the store at {}: {}", address_, why));
    return std::nullopt;
  };
  handshake::challenge c;
  try {
    c = handshake::decode_challenge(answer);
  } catch (error const& e) {
    return refuse(fmt::format("what answers is no store of Hocket ({})", e.what()));
  }
  switch (c.answer) {
    case handshake::verdict::other_job:
      return refuse(fmt::format("it serves another job than \"{}\"", said.job));
    case handshake::verdict::other_epoch:
      return refuse(
          fmt::format("it serves epoch {}, this process comes in epoch {}", c.epoch, said.epoch));
    case handshake::verdict::other_rank:
      return refuse("what answers is a rank, not the store");
    case handshake::verdict::accepted:
      break;
  }
  auto const secret = options_.secret().bytes();
  auto const theirs = handshake::prove(side::answerer, secret, sent, c.random);
  if (!handshake::is_equal(theirs, handshake::view(c.mine)))
    return refuse(options_.secret().empty()
                      ? "it has a secret, and there is none here (HOCKET_SECRET_FD or "
                        "HOCKET_SECRET_FILE)"
                      : "it does not hold the secret of this job");
  return handshake::prove(side::caller, secret, sent, c.random);
}

template <class T>
work<T> store_client::call(char const* name, request r, typename store_op<T>::maker make,
                           op_options const& options, std::source_location site,
                           std::shared_ptr<void> extra) {
  if (auto const why = refusal_of(r, options); !why.empty())
    return detail::failed_work<T>(errc::invalid_argument, name, why, site);
  boost::intrusive_ptr<store_op<T>> op(
      new store_op<T>(home_, weak_from_this(), std::move(r), make, std::move(extra)), false);
  op->mutable_info().operation = name;
  op->mutable_info().site = site;
  work<T> handle{detail::op_ptr<T>(op)};
  auto const limit = options.deadline().value_or(options_.timeout());
  if (limit > clock::duration::zero() && limit != clock::duration::max()) runtime_.arm(*op, limit);
  detail::cancel_on_stop(*op, options.stop());
  submit(call_ptr(*op));
  if (limit <= clock::duration::zero()) op->expire();
  return handle;
}

namespace {

request ask(verb v, std::vector<std::string> keys, std::vector<std::string> values = {},
            std::int64_t number = 0) {
  for (auto& key : keys) key.insert(key.begin(), '/');
  return {v, std::move(keys), std::move(values), number};
}

template <class... Texts>
std::vector<std::string> list(Texts&&... texts) {
  std::vector<std::string> all;
  (all.push_back(std::forward<Texts>(texts)), ...);
  return all;
}

using nothing = std::shared_ptr<void>;
std::monostate no_value(reply&&, nothing&) { return {}; }
std::string text(reply&& r, nothing&) { return std::move(r.text); }
std::int64_t number(reply&& r, nothing&) { return r.number; }
bool is_zero(reply&& r, nothing&) { return r.number == 0; }
bool is_positive(reply&& r, nothing&) { return r.number > 0; }

// The handle that users hold: the client goes with it.
class tcp_store final : public store {
 public:
  explicit tcp_store(std::shared_ptr<store_client> client) : client_(std::move(client)) {}
  tcp_store(tcp_store const&) = delete;
  tcp_store& operator=(tcp_store const&) = delete;
  ~tcp_store() override {
    if (client_->is_own_process()) {
      client_->close();
    } else {
      // The parent polls these sockets by descriptions that a fork shares: closing them properly
      // here would take them out of its poll.
      [[maybe_unused]] auto* const left = new std::shared_ptr<store_client>(std::move(client_));
    }
  }

  [[nodiscard]] std::string_view address() const noexcept override { return client_->address(); }

  work<> set(std::string key, std::string value, op_options const& o, site from) override {
    return client_->call<void>("store.set",
                               ask(verb::set, list(std::move(key)), list(std::move(value))),
                               no_value, o, from);
  }
  work<std::string> get(std::string key, op_options const& o, site from) override {
    return client_->call<std::string>("store.get", ask(verb::get, list(std::move(key))), text, o,
                                      from);
  }
  work<std::int64_t> add(std::string key, std::int64_t amount, op_options const& o,
                         site from) override {
    return client_->call<std::int64_t>(
        "store.add", ask(verb::add, list(std::move(key)), list(), amount), number, o, from);
  }
  work<std::string> compare_set(std::string key, std::string expected, std::string desired,
                                op_options const& o, site from) override {
    return client_->call<std::string>(
        "store.compare_set",
        ask(verb::compare_set, list(std::move(key)), list(std::move(expected), std::move(desired))),
        text, o, from);
  }
  work<bool> check(key_list keys, op_options const& o, site from) override {
    return client_->call<bool>("store.check", ask(verb::check, std::move(keys)), is_zero, o, from);
  }
  work<> wait(key_list keys, op_options const& o, site from) override {
    return client_->call<void>("store.wait", ask(verb::wait, std::move(keys)), no_value, o, from);
  }
  work<bool> erase(std::string key, op_options const& o, site from) override {
    return client_->call<bool>("store.erase", ask(verb::erase, list(std::move(key))), is_positive,
                               o, from);
  }

 private:
  std::shared_ptr<store_client> client_;
};

// Its call does not own the client, which owns the call: whoever works it off owns both.
struct connecting {
  std::weak_ptr<store_client> client;
};

std::shared_ptr<store> the_store(reply&&, nothing& extra) {
  auto client = static_cast<connecting const*>(extra.get())->client.lock();
  return std::make_shared<tcp_store>(std::move(client));
}

}  // namespace
}  // namespace hocket::rdzv

namespace hocket {

work<std::shared_ptr<store>> connect_store(boost::asio::any_io_executor const& ex,
                                           tcp_store_options const& options, op_options const& call,
                                           std::source_location site) {
  using namespace rdzv;
  auto const client = std::make_shared<store_client>(ex, options);
  // Any question is answered by a store that is there: this one asks for no key at all.
  return client->call<std::shared_ptr<store>>("connect_store", ask(verb::check, {}), the_store,
                                              call, site,
                                              std::make_shared<connecting>(connecting{client}));
}

}  // namespace hocket
