// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// hocket-embed: cp * pp ranks compute the embeddings of a file's sentences, all in this process, or
// this process is one of them.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdio>
#include <exception>
#include <hocket/error.hpp>
#include <hocket/group/local_world.hpp>
#include <hocket/launch/join.hpp>
#include <string>
#include <thread>

#include "command_line.hpp"
#include "embed_rank.hpp"
#include "open_model.hpp"
#include "standard_streams.hpp"
#include "terminal.hpp"

namespace {

namespace asio = boost::asio;

// What a rank saw first-hand says more than what its peers told it.
bool is_hearsay(std::exception_ptr const& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (hocket::error const& e) {
    return e.code() == hocket::errc::revoked || e.code() == hocket::errc::peer_lost ||
           e.code() == hocket::errc::peer_failed || e.code() == hocket::errc::group_closed;
  } catch (...) {
    return false;
  }
}

void rethrow_cause(hocket::local_world const& ranks) {
  for (int rank = 0; rank < ranks.size(); ++rank) {
    auto const failure = ranks.failure(rank);
    if (failure && !is_hearsay(failure)) std::rethrow_exception(failure);
  }
  ranks.rethrow();
}

embed::embed_job job_of(embed::command_line const& line, embed::terminal& terminal) {
  embed::embed_job job;
  job.cp = line.cp;
  job.pp = line.pp;
  job.in_flight = line.in_flight;
  job.client = &terminal;
  return job;
}

// This process's share of the host's cores.
unsigned workers_of(int processes_here) {
  return std::max(1U, std::thread::hardware_concurrency() / static_cast<unsigned>(processes_here));
}

void run_in_this_process(embed::command_line const& line) {
  embed::terminal terminal(line);
  auto job = job_of(line, terminal);
  job.model = embed::open_model(line, embed::remark::made);

  asio::thread_pool workers(workers_of(1));
  job.workers = workers.get_executor();
  asio::io_context context(1);
  hocket::local_world ranks(context.get_executor(), line.cp * line.pp);
  ranks.spawn([&job](hocket::world w) { return embed::embed_rank(std::move(w), job); });
  context.run();
  workers.join();
  rethrow_cause(ranks);
}

// Before anything is loaded, on every rank alike: all have the same command line.
void check_grid(embed::command_line const& line, int processes) {
  if (line.cp * line.pp != processes)
    throw hocket::error(
        hocket::errc::mismatch,
        fmt::format("--cp {} times --pp {} is {} ranks, and the launcher started {} processes",
                    line.cp, line.pp, line.cp * line.pp, processes));
}

// Joins first: the others hear at once of a rank that cannot load the model.
asio::awaitable<void> join_and_run(hocket::launch_options place, embed::command_line const& line,
                                   embed::embed_job& job) {
  auto const ex = co_await asio::this_coro::executor;
  auto joining = hocket::join(ex, place);
  auto world = co_await std::move(joining);
  auto const told = place.rank() == 0 ? embed::remark::made : embed::remark::left_out;
  job.model = embed::open_model(line, told);
  co_await embed::embed_rank(std::move(world), job);
}

void run_as_one_process(embed::command_line const& line, hocket::launch_options const& place) {
  check_grid(line, place.size());
  embed::terminal terminal(line);
  auto job = job_of(line, terminal);
  asio::thread_pool workers(workers_of(place.local_size()));
  job.workers = workers.get_executor();
  asio::io_context context(1);
  std::exception_ptr failure;
  asio::co_spawn(context, join_and_run(place, line, job),
                 [&failure](std::exception_ptr e) { failure = e; });
  context.run();
  workers.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

int main(int argc, char** argv) {
  std::string speaker = "hocket-embed";
  try {
    embed::open_standard_streams();
    embed::command_line const line = embed::parse_command_line(argc, argv);
    if (line.help) {
      embed::write_output(embed::help_text());
      embed::flush_output();
      return 0;
    }
    auto const place = hocket::launch_options::from_environment();
    if (place.size() == 1) {
      run_in_this_process(line);
    } else {
      speaker += fmt::format(": rank {}", place.rank());
      run_as_one_process(line, place);
    }
    return 0;
  } catch (std::exception const& e) {
    embed::complain(fmt::format("{}: {}\n", speaker, e.what()));
  }
  if (int const signal = embed::remembered_signal(); signal != 0) {
    std::fflush(stdout);
    ::signal(signal, SIG_DFL);
    ::raise(signal);  // whoever started this program sees what ended it
  }
  return 2;
}
