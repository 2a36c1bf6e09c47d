// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "node_link.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <charconv>
#include <chrono>
#include <future>
#include <hocket/error.hpp>
#include <hocket/launch/deaths.hpp>
#include <hocket/launch/tcp_store.hpp>
#include <hocket/log.hpp>
#include <mutex>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"
#include "launch/socket_address.hpp"
#include "rank_process.hpp"

namespace hocket::tools {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using store_ptr = std::shared_ptr<store>;

// The launcher has ranks to end: it does not wait long for the store.
constexpr std::chrono::milliseconds patience{1000};
constexpr int failed = 1;
constexpr char const* end_key = "hocket/launch/end";
constexpr char const* done_key = "hocket/launch/done";

std::vector<tcp::endpoint> endpoints_of(node_place const& place) {
  boost::system::error_code no_number;
  auto const number = asio::ip::make_address(rdzv::bare_host(place.host), no_number);
  if (!no_number) return {tcp::endpoint(number, place.port)};
  asio::io_context context;
  boost::system::error_code unknown;
  auto const found =
      tcp::resolver(context).resolve(place.host, std::to_string(place.port), unknown);
  if (unknown)
    throw error(unknown, fmt::format("--rdzv: the name {} has no address here: {}", place.host,
                                     unknown.message()));
  std::vector<tcp::endpoint> all;
  bool is_loopback = true;
  for (auto const& entry : found) {
    is_loopback = is_loopback && entry.endpoint().address().is_loopback();
    all.push_back(entry.endpoint());
  }
  // Many systems give their own name an address of the loopback, where no other host could come.
  if (is_loopback && place.host != "localhost")
    return {tcp::endpoint(tcp::v6(), place.port), tcp::endpoint(tcp::v4(), place.port)};
  return all;
}

// "3 rank 5 of 8 ..."
job_end end_from(std::string const& text) {
  job_end e;
  auto const space = std::min(text.find(' '), text.size());
  std::from_chars(text.data(), text.data() + space, e.status);
  e.story = text.substr(std::min(space + 1, text.size()));
  return e;
}

}  // namespace

int listen_for_nodes(node_place const& place) {
  std::exception_ptr why;
  for (auto const& at : endpoints_of(place)) {
    try {
      return rdzv::listen_at(asio::generic::stream_protocol::endpoint(at));
    } catch (error const&) {
      why = std::current_exception();
    }
  }
  std::rethrow_exception(why);
}

class node_link::state {
 public:
  state(node_place const& place, int ranks, std::string const& job)
      : place_(place), ranks_(ranks), job_(job), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!wake_) throw_system(errno, "eventfd");
  }
  ~state() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }

  void start() {
    asio::co_spawn(context_, watch(), [this](std::exception_ptr e) {
      if (e) fail(e);
    });
    thread_ = std::thread([this] { context_.run(); });
  }

  // The store once it is there, or null.
  store_ptr reach() {
    if (connected_.wait_for(patience) != std::future_status::ready) return nullptr;
    return connected_.get();
  }

  void tell(job_end e) {
    {
      std::lock_guard const lock(mutex_);
      if (end_) return;
      end_ = std::move(e);
    }
    std::uint64_t const one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
  }

  std::optional<job_end> end() const {
    std::lock_guard const lock(mutex_);
    return end_;
  }
  int wake_fd() const noexcept { return wake_.get(); }
  int nodes() const noexcept { return place_.nodes; }

 private:
  asio::awaitable<void> watch() {
    auto const ex = co_await asio::this_coro::executor;
    tcp_store_options at;
    at.address(place_.host, place_.port).secret(place_.secret).job(job_).timeout(place_.limit);
    auto connecting = connect_store(ex, at);
    auto const s = co_await std::move(connecting);
    co_await check_in(s);
    reached_.set_value(s);
    op_options whole;
    whole.no_deadline();
    auto ending = s->get(end_key, whole);
    auto const text = co_await std::move(ending);
    tell(end_from(text));
  }

  asio::awaitable<void> check_in(store_ptr s) {
    auto const me = fmt::format("hocket/launch/node/{}", place_.node);
    auto coming = s->add(me, 1);
    auto const times = co_await std::move(coming);
    if (times != 1)
      throw error(errc::mismatch, fmt::format("{} launchers of the job at {} say --node-rank {}",
                                              times, s->address(), place_.node));
    if (place_.node == 0) {
      auto told = s->set("hocket/launch/ranks", std::to_string(ranks_));
      co_await std::move(told);
      co_return;
    }
    auto asking = s->get("hocket/launch/ranks");
    auto const theirs = co_await std::move(asking);
    if (theirs == std::to_string(ranks_)) co_return;
    auto const story = fmt::format(
        "node 0 starts {} ranks (-n), node {} would start {}: all nodes "
        "have to start as many",
        theirs, place_.node, ranks_);
    auto ending = s->compare_set(end_key, "", fmt::format("{} {}", failed, story));
    co_await std::move(ending);
    throw error(errc::mismatch, story);
  }

  void fail(std::exception_ptr const& e) {
    std::string why = "the job's store failed";
    try {
      std::rethrow_exception(e);
    } catch (std::exception const& failure) {
      why = failure.what();
    }
    tell({failed, fmt::format("node {} of {}: {}", place_.node, place_.nodes, why)});
  }

  node_place const place_;
  int const ranks_;
  std::string const job_;
  detail::unique_fd const wake_;
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_{context_.get_executor()};
  std::promise<store_ptr> reached_;
  std::shared_future<store_ptr> connected_ = reached_.get_future().share();
  mutable std::mutex mutex_;
  std::optional<job_end> end_;
  std::thread thread_;
};

node_link::node_link(node_place const& place, int ranks, std::string const& job)
    : state_(std::make_unique<state>(place, ranks, job)) {}
node_link::~node_link() = default;

void node_link::start() { state_->start(); }
int node_link::wake_fd() const noexcept { return state_->wake_fd(); }
std::optional<job_end> node_link::end() const { return state_->end(); }

void node_link::report_death(int rank, std::string const& story) noexcept try {
  auto const s = state_->reach();
  if (!s) return;
  s->set(dead_rank_key(rank), story).get(patience);
  auto const n = s->add("hocket/launch/deaths", 1).get(patience);
  s->set(death_key(static_cast<int>(n - 1)), fmt::format("{} {}", rank, story)).get(patience);
} catch (std::exception const& e) {
  log(log_level::warning,
      fmt::format("the death of rank {} is not in the store: {}", rank, e.what()));
}

void node_link::report_failure(int status, std::string const& story) noexcept try {
  if (auto const s = state_->reach())
    (void)s->compare_set(end_key, "", fmt::format("{} {}", status, story)).get(patience);
} catch (std::exception const& e) {
  log(log_level::warning, fmt::format("other nodes do not hear of a failure: {}", e.what()));
}

void node_link::report_done() noexcept try {
  auto const s = state_->reach();
  if (!s) return;
  auto const done = s->add(done_key, 1).get(patience);
  if (done == state_->nodes()) (void)s->compare_set(end_key, "", "0 done").get(patience);
} catch (std::exception const& e) {
  state_->tell(
      {failed, fmt::format("the job's store does not hear that the ranks are done: {}", e.what())});
}

}  // namespace hocket::tools
