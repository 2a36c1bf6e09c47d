// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "job_store.hpp"

#include <fmt/format.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <hocket/error.hpp>
#include <hocket/launch/deaths.hpp>
#include <hocket/launch/store_server.hpp>
#include <hocket/log.hpp>
#include <thread>

namespace hocket::tools {
namespace {

// The launcher has ranks to end: it does not wait for a thread that gets no time.
constexpr std::chrono::milliseconds patience{200};
constexpr std::chrono::milliseconds farewell{1000};

}  // namespace

class job_store::serving {
 public:
  serving(int listening, store_server_options const& options)
      : server(context_.get_executor(), listening, options) {}
  ~serving() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }
  void start() {
    thread_ = std::thread([this] { context_.run(); });
  }

 private:
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_{
      context_.get_executor()};
  std::thread thread_;

 public:
  store_server server;
};

job_store::job_store(unique_fd listening, launch_secret const& secret, std::string const& job,
                     bool is_open)
    : serving_(std::make_unique<serving>(
          listening.release(), store_server_options().secret(secret).job(job).open(is_open))) {}

job_store::~job_store() = default;

void job_store::start() { serving_->start(); }

void job_store::report_death(int rank, std::string const& story) {
  auto& server = serving_->server;
  auto const by_rank = server.set(dead_rank_key(rank), story);
  auto const in_order = server.set(death_key(deaths_++), fmt::format("{} {}", rank, story));
  try {
    by_rank.get(patience);
    in_order.get(patience);
  } catch (error const& e) {
    log(log_level::warning,
        fmt::format("the death of rank {} is not in the store: {}", rank, e.what()));
  }
}

void job_store::drain() noexcept try {
  serving_->server.drained(0, op_options().deadline(farewell)).get(2 * farewell);
} catch (error const&) {
}

}  // namespace hocket::tools
