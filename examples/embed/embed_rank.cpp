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
#include <hocket/topology/rank_grid.hpp>
#include <optional>
#include <utility>

#include "ordered_results.hpp"
#include "request.hpp"
#include "stage.hpp"

namespace embed {

namespace asio = boost::asio;
using hocket::group_rank;
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
  rank_program(hocket::world w, process_group cp, process_group pp, embed_job const& job)
      : world_(std::move(w)),
        cp_(std::move(cp)),
        pp_(std::move(pp)),
        job_(job),
        reader_(job.workers),
        stage_(job, pp_.rank().value(), world_.get_executor()) {}

  asio::awaitable<void> run();
  /// Ends what this rank and its peers still do, so that all come to their end.
  void fail(std::exception_ptr e);
  /// Waits until no request is in flight, whatever becomes of them.
  asio::awaitable<void> drain();
  [[nodiscard]] std::exception_ptr const& failure() const noexcept { return failure_; }

 private:
  asio::awaitable<std::uint64_t> open();
  asio::awaitable<embed_request> next_request(std::uint64_t id);
  hocket::work<> start(embed_request request);
  asio::awaitable<void> serve(embed_request request);
  asio::awaitable<tensor> receive(process_group pp, int from);
  asio::awaitable<void> send(process_group pp, tensor rows, int to);
  asio::awaitable<void> finish_oldest();
  asio::awaitable<void> report();

  [[nodiscard]] bool is_root() const { return world_.rank() == hocket::world_rank(0); }
  [[nodiscard]] bool is_first_stage() const { return pp_.rank().value() == 0; }
  [[nodiscard]] bool is_last_stage() const { return pp_.rank().value() == pp_.size() - 1; }

  hocket::world world_;
  process_group cp_;
  process_group pp_;
  embed_job const& job_;
  hocket::host_stream reader_;  // what the client does; apart from the stage's arithmetic
  stage stage_;
  std::optional<ordered_results> results_;
  std::deque<hocket::work<>> in_flight_;
  std::exception_ptr failure_;
};

asio::awaitable<void> rank_program::run() {
  std::uint64_t const requests = co_await open();
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

// A client that cannot open its input fails all ranks alike, before anything is done.
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
// one; the last stage's first rank has the result and gives it to rank 0.
asio::awaitable<void> rank_program::serve(embed_request request) {
  process_group const cp = cp_.channel(request.id);
  process_group const pp = pp_.channel(request.id);
  auto const length = static_cast<std::int64_t>(request.tokens.size());
  split_plan const plan = hocket::make_split_plan(hocket::layout::balanced, length, cp.size(), 0);

  tensor x;
  if (is_first_stage()) {
    auto const ids = tensor::from(std::span<token_id const>(request.tokens), hocket::shape(length));
    x = co_await stage_.embed_rows(ids, plan, cp);
  } else {
    x = co_await receive(pp, pp.rank().value() - 1);
  }
  co_await stage_.run_layers(x, plan, cp);
  if (is_last_stage()) {
    x = co_await stage_.pool_rows(x, plan, cp);
    if (!is_first_stage() && cp.rank() == group_rank(0)) co_await send(pp, x, 0);
  } else {
    co_await send(pp, x, pp.rank().value() + 1);
  }
  if (is_root()) {
    if (!is_last_stage()) x = co_await receive(pp, pp.size() - 1);
    results_->add(request.id - 1, x.as_span<float>());
  }
  cp.close_channel();
  pp.close_channel();
}

asio::awaitable<tensor> rank_program::receive(process_group pp, int from) {
  auto coming = pp.recv(group_rank(from));
  stage_.clock().watch(coming);
  co_return co_await std::move(coming);
}

// Ends when the peer has taken the rows: until then the request counts as in flight here, which
// keeps a fast stage from running ahead of a slow one.
asio::awaitable<void> rank_program::send(process_group pp, tensor rows, int to) {
  auto sent = pp.send(rows, group_rank(to));
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
  std::string const reason =
      fmt::format("rank {}: {}", world_.rank().value(), story_of(e));
  for (process_group const& group : {cp_, pp_, world_.group()}) group.revoke(reason);
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
  sizes.pp = job.pp;
  hocket::rank_grid const grid(w.size(), sizes,
                               hocket::order::outermost_first("dp-ep-pp-tp-cp"));
  auto making_cp = hocket::make_group(w, grid.group_of(w.rank(), hocket::axis::cp));
  process_group const cp = co_await std::move(making_cp);
  auto making_pp = hocket::make_group(w, grid.group_of(w.rank(), hocket::axis::pp));
  process_group const pp = co_await std::move(making_pp);
  rank_program program(w, cp, pp, job);
  try {
    co_await program.run();
  } catch (...) {
    program.fail(std::current_exception());
  }
  co_await program.drain();
  if (program.failure()) std::rethrow_exception(program.failure());
}

}  // namespace embed
