// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "embed_rank.hpp"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <deque>
#include <exception>
#include <hocket/async/promise.hpp>
#include <hocket/async/stream.hpp>
#include <hocket/error.hpp>
#include <hocket/parallel/context_parallel.hpp>
#include <hocket/parallel/parallel_state.hpp>
#include <hocket/pipeline/pp_scheduler.hpp>
#include <optional>
#include <utility>

#include "ordered_results.hpp"
#include "request.hpp"
#include "stage.hpp"

namespace embed {

namespace asio = boost::asio;
using hocket::PPScheduler;
using hocket::process_group;
using hocket::split_plan;
using hocket::tensor;

namespace {

std::string story_of(std::exception_ptr const& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (std::exception const& e) {
    return e.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

class rank_program {
 public:
  rank_program(hocket::world w, hocket::ParallelState const& state, embed_job const& job)
      : world_(std::move(w)),
        cp_(state.cp_group()),
        pp_(hocket::init_pp_scheduler(state)),
        job_(job),
        reader_(job.workers),
        stage_(job, state.pp_rank(), world_.get_executor()) {}

  /// The number of requests. A client that cannot open its input fails all ranks alike, before
  /// anything is done.
  asio::awaitable<std::uint64_t> open();
  asio::awaitable<void> run(std::uint64_t requests);
  /// Ends what this rank and its peers still do, so that all come to their end.
  void fail(std::exception_ptr e);
  /// Waits until no request is in flight, whatever becomes of them.
  asio::awaitable<void> drain();
  [[nodiscard]] std::exception_ptr const& failure() const noexcept { return failure_; }

 private:
  asio::awaitable<embed_request> next_request(std::uint64_t id);
  hocket::work<> start(embed_request request);
  asio::awaitable<void> serve(embed_request request);
  asio::awaitable<tensor> receive(PPScheduler pp);
  asio::awaitable<void> send(PPScheduler pp, tensor t);
  asio::awaitable<void> finish_oldest();
  asio::awaitable<void> report();

  [[nodiscard]] bool is_root() const { return world_.rank() == hocket::world_rank(0); }

  hocket::world world_;
  process_group cp_;
  PPScheduler pp_;
  embed_job const& job_;
  hocket::host_stream reader_;  // what the client does; apart from the stage's arithmetic
  stage stage_;
  std::optional<ordered_results> results_;
  std::deque<hocket::work<>> in_flight_;
  std::exception_ptr failure_;
};

asio::awaitable<void> rank_program::run(std::uint64_t requests) {
  for (std::uint64_t id = 1; id <= requests; ++id) {
    embed_request request;
    if (is_root()) request = co_await next_request(id);
    if (in_flight_.size() == job_.in_flight) co_await finish_oldest();
    auto coming = hocket::broadcast(std::move(request), world_.group());
    request = co_await std::move(coming);
    in_flight_.push_back(start(std::move(request)));
  }
  while (!in_flight_.empty()) co_await finish_oldest();
  co_await report();
}

asio::awaitable<std::uint64_t> rank_program::open() {
  opening mine;
  if (is_root()) {
    try {
      auto const open_client = [this] { return job_.client->open(); };
      auto opened = reader_.run(open_client);
      mine.requests = co_await std::move(opened);
      results_.emplace(*job_.client);
    } catch (...) {
      mine = refusal(std::current_exception());
    }
  }
  auto coming = hocket::broadcast(std::move(mine), world_.group());
  opening const agreed = co_await std::move(coming);
  rethrow(agreed);
  co_return agreed.requests;
}

asio::awaitable<embed_request> rank_program::next_request(std::uint64_t id) {
  embed_request request;
  request.id = id;
  auto const tokenise = [this, id] { return job_.client->tokens(*job_.model, id - 1); };
  auto tokens = reader_.run(tokenise);
  request.tokens = co_await std::move(tokens);
  co_return request;
}

hocket::work<> rank_program::start(embed_request request) {
  hocket::promise<> ended(world_.get_executor());
  hocket::work<> handle = ended.get_work();
  asio::co_spawn(world_.get_executor(), serve(std::move(request)),
                 [this, ended = std::move(ended)](std::exception_ptr e) mutable {
                   if (!e) return ended.set();
                   fail(e);
                   ended.fail(e);
                 });
  return handle;
}

// One request on this rank. Each stage hands its rows to the same context-parallel rank of the next
// one. Stages are a ring: the last one hands the result to rank 0.
asio::awaitable<void> rank_program::serve(embed_request request) {
  process_group const cp = cp_.channel(request.id);
  PPScheduler const pp = pp_.on(request.id);
  auto const length = static_cast<std::int64_t>(request.tokens.size());
  split_plan const plan = hocket::make_split_plan(hocket::layout::balanced, length, cp.size(), 0);

  tensor x;
  if (pp.is_first()) {
    auto const ids = tensor::from(std::span<token_id const>(request.tokens), hocket::shape(length));
    x = co_await stage_.embed_rows(ids, plan, cp);
  } else {
    x = co_await receive(pp);
  }
  co_await stage_.run_layers(x, plan, cp);
  if (pp.is_last()) x = co_await stage_.pool_rows(x, plan, cp);

  bool const returns = pp.is_last() && cp.rank() == hocket::group_rank(0);
  if (!pp.is_last() || (returns && !pp.is_first())) co_await send(pp, x);
  if (is_root()) {
    if (!pp.is_last()) x = co_await receive(pp);
    results_->add(request.id - 1, x.as_span<float>());
  }
  cp.close_channel();
  pp.close_channel();
}

asio::awaitable<tensor> rank_program::receive(PPScheduler pp) {
  auto coming = pp.recv_prev_data();
  stage_.clock().watch(coming);
  co_return co_await std::move(coming);
}

// Ends when the next stage has taken it: until then the request counts as in flight here, which
// keeps a fast stage from running ahead of a slow one.
asio::awaitable<void> rank_program::send(PPScheduler pp, tensor t) {
  auto sent = pp.isend_next(std::move(t));
  stage_.clock().watch(sent);
  co_await std::move(sent);
}

asio::awaitable<void> rank_program::finish_oldest() {
  auto oldest = std::move(in_flight_.front());
  in_flight_.pop_front();
  co_await std::move(oldest);
}

asio::awaitable<void> rank_program::report() {
  rank_figures const f = stage_.clock().read();
  std::vector<double> const row = {f.wall, f.compute, f.exposed, f.hidden};
  auto const columns = static_cast<std::int64_t>(row.size());
  tensor const mine = tensor::from(std::span<double const>(row), hocket::shape(1, columns));
  tensor const all = tensor::empty(hocket::dtype::f64, hocket::shape(world_.size(), columns));
  auto gathered = world_.group().all_gather(all, mine);
  co_await std::move(gathered);
  if (!is_root()) co_return;
  std::vector<rank_figures> figures;
  for (std::int64_t rank = 0; rank < world_.size(); ++rank)
    figures.push_back({all.item<double>(rank, 0), all.item<double>(rank, 1),
                       all.item<double>(rank, 2), all.item<double>(rank, 3)});
  job_.client->report(figures);
}

void rank_program::fail(std::exception_ptr e) {
  if (failure_) return;
  failure_ = e;
  std::string const reason = fmt::format("rank {}: {}", world_.rank().value(), story_of(e));
  for (process_group const& group : {cp_, pp_.group(), world_.group()}) group.revoke(reason);
}

asio::awaitable<void> rank_program::drain() {
  while (!in_flight_.empty()) {
    try {
      co_await finish_oldest();
    } catch (...) {
      fail(std::current_exception());
    }
  }
}

}  // namespace

asio::awaitable<void> embed_rank(hocket::world w, embed_job const& job) {
  use_one_blas_thread();
  hocket::axis_sizes sizes;
  sizes.cp = job.cp;
  sizes.dp = 1;
  sizes.pp = job.pp;
  auto making_groups = hocket::ParallelState::init(w, sizes);
  auto const state = co_await std::move(making_groups);
  rank_program program(w, state, job);
  std::uint64_t const requests = co_await program.open();
  try {
    co_await program.run(requests);
  } catch (...) {
    program.fail(std::current_exception());
  }
  co_await program.drain();
  if (program.failure()) std::rethrow_exception(program.failure());
}

}  // namespace embed
