// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// What surrounds the walk: the proof, the agreement of the ranks, failures and figures.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <hocket/error.hpp>
#include <hocket/pipeline/communication.hpp>
#include <hocket/pipeline/run_schedule.hpp>
#include <numeric>
#include <utility>

#include "parallel/parallel_core.hpp"
#include "schedule_walk.hpp"

namespace hocket {

namespace asio = boost::asio;

namespace detail {

namespace {

constexpr std::uint64_t word_tag = 1;  // of failures; no message of a schedule has it

process_group channel_for(process_group const& g, int number) {
  return g.channel((std::uint64_t{3} << 60) | static_cast<std::uint64_t>(number));
}

std::uint64_t hash_of(schedule const& plan) {
  std::uint64_t h = 14695981039346656037u;  // FNV-1a
  auto const mix = [&h](std::string const& text) {
    for (char const c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
    h *= 1099511628211u;
  };
  for (int const r : plan.placement()) mix(std::to_string(r));
  for (int r = 0; r < plan.ranks(); ++r) {
    mix("rank");
    for (auto const& a : plan.actions(r)) mix(to_string(a));
  }
  return h;
}

int checked_rank(walk_places const& places, schedule const& plan) {
  if (plan.ranks() != places.stages.size())
    throw error(errc::invalid_argument,
                fmt::format("run_schedule at {}: schedule {} is for {} ranks, {} has {}",
                            to_string(places.site), plan.name(), plan.ranks(),
                            places.stages.is_disabled() ? "one stage" : places.stages.label(),
                            places.stages.size()));
  return places.stages.rank().value();
}

}  // namespace

schedule_walk::schedule_walk(walk_places const& places, schedule plan, stage_actions actions,
                             schedule_options const& options)
    : plan_(with_communication(std::move(plan))),
      actions_(std::move(actions)),
      options_(options),
      stages_(channel_for(places.stages, options.number())),
      peers_(channel_for(places.peers, options.number())),
      executor_(places.executor),
      site_(places.site),
      rank_(checked_rank(places, plan_)),
      label_(places.stages.is_disabled() ? "one stage" : places.stages.label()),
      list_(plan_.actions(rank_)),
      inputs_(plan_, rank_),
      outputs_(plan_, rank_),
      gradients_in_(plan_, rank_),
      gradients_out_(plan_, rank_) {
  if (options.receives_ahead() < 1 || options.number() < 0 || options.number() >= 4096)
    throw error(errc::invalid_argument,
                fmt::format("run_schedule: receives_ahead {} must be at least 1, number {} below "
                            "4096",
                            options.receives_ahead(), options.number()));
  report_.predicted = predict(plan_, options.costs());
  check_actions();
  if (plan_.rank_of(plan_.stages() - 1) == rank_)
    report_.outputs.resize(static_cast<std::size_t>(plan_.microbatches()));
}

void schedule_walk::check_actions() const {
  for (auto const& a : list_) {
    if (a.is_communication()) continue;
    auto const* const f = actions_.computes(a.kind());
    auto const* const s = f != nullptr ? nullptr : actions_.steps(a);
    if ((f != nullptr && *f) || (s != nullptr && *s)) continue;
    throw error(errc::invalid_argument,
                fmt::format("run_schedule at {}: rank {} of schedule {} has {}, and there is no "
                            "coroutine for {}",
                            to_string(site_), rank_, plan_.name(), to_string(a), a.name()));
  }
}

asio::awaitable<void> schedule_walk::agree_on_plan() {
  auto const own = tensor::full(dtype::u64, {1}, 0);
  *own.data<std::uint64_t>() = hash_of(plan_);
  auto all = tensor::empty(dtype::u64, {stages_.size()});
  co_await stages_.all_gather(all, own, op_options(), site_);
  auto const hashes = all.as_span<std::uint64_t>();
  auto const other = std::ranges::find_if(hashes, [&](auto h) { return h != hashes[0]; });
  if (other != hashes.end())
    throw error(
        errc::mismatch,
        fmt::format("run_schedule at {}: the ranks of {} gave different schedules: rank "
                    "{}'s is not rank 0's ({} here, {} actions)",
                    to_string(site_), label_, other - hashes.begin(), plan_.name(), plan_.size()));
}

void schedule_walk::fail(ending e, bool tells_stages, bool tells_peers) {
  std::lock_guard const lock(mutex_);
  if (end_.is_early()) return;
  end_ = std::move(e);
  tells_stages_ = tells_stages;
  tells_peers_ = tells_peers;
  walking_->cancel();
}

ending schedule_walk::failure() const {
  std::lock_guard const lock(mutex_);
  return end_;
}

asio::awaitable<void> schedule_walk::listen(walk_ptr self, process_group from, bool tells_stages) {
  op_options o;
  o.tag(word_tag).no_deadline();
  for (;;) {
    work<ending> coming;
    {
      std::lock_guard const lock(self->mutex_);
      if (self->is_over_) co_return;
      coming = from.recv_object<ending>(any_source, o, self->site_);
      (tells_stages ? self->ear_for_peers_ : self->ear_for_stages_) = coming.get_canceller();
    }
    ending e;
    try {
      e = co_await std::move(coming);
    } catch (boost::system::system_error const& x) {
      // At the end, or with the group: of a revocation an action that is under way is not told.
      if (x.code() == errc::revoked)
        self->fail(ending(static_cast<std::int32_t>(errc::revoked), x.what()), false, false);
      co_return;
    }
    self->fail(std::move(e), tells_stages, false);
  }
}

// The receives that wait for words are withdrawn.
void schedule_walk::stop_listening() {
  canceller stages;
  canceller peers;
  {
    std::lock_guard const lock(mutex_);
    is_over_ = true;
    stages = ear_for_stages_;
    peers = ear_for_peers_;
  }
  stages.cancel();
  peers.cancel();
}

asio::awaitable<void> schedule_walk::tell_failure() {
  auto const e = failure();
  op_options o;
  o.tag(word_tag);
  std::vector<work<>> told;
  auto const tell_all = [&](process_group const& g) {
    for (int r = 0; r < g.size(); ++r)
      if (r != g.rank().value()) told.push_back(g.send_object(e, group_rank(r), o, site_));
  };
  if (tells_stages_) tell_all(stages_);
  if (tells_peers_) tell_all(peers_);
  for (auto& t : told) co_await std::move(t);
}

// Every rank's figures on every rank: whether it failed, how long it was busy, and took.
asio::awaitable<void> schedule_walk::collect() {
  auto own = tensor::empty(dtype::f64, {1, 3});
  auto* const figures = own.data<double>();
  figures[0] = failure().is_early() ? 1 : 0;
  figures[1] = busy_;
  figures[2] = report_.timeline.empty() ? 0 : report_.timeline.back().end;
  auto all = tensor::empty(dtype::f64, {stages_.size(), 3});
  co_await stages_.all_gather(all, own, op_options(), site_);
  if (peers_.size() > 1) co_await peers_.barrier(op_options(), site_);
  for (int r = 0; r < stages_.size(); ++r) {
    report_.busy.push_back(all.item<double>(r, 1));
    report_.makespan = std::max(report_.makespan, all.item<double>(r, 2));
  }
  auto const whole = report_.makespan * static_cast<double>(stages_.size());
  auto const sum = std::accumulate(report_.busy.begin(), report_.busy.end(), 0.0);
  if (whole > 0) report_.bubble = std::max(0.0, 1 - sum / whole);
}

void schedule_walk::close() const {
  stages_.close_channel();
  peers_.close_channel();
}

asio::awaitable<schedule_report> schedule_walk::run() {
  auto const self = shared_from_this();
  co_await agree_on_plan();
  task_group listening(executor_, site_);
  walking_.emplace(executor_, site_);
  if (stages_.size() > 1)
    listening.spawn(asio::make_strand(executor_), listen(self, stages_, false));
  if (peers_.size() > 1) listening.spawn(asio::make_strand(executor_), listen(self, peers_, true));
  start_ = clock::steady().now();
  walking_->spawn(asio::make_strand(executor_), walk(self));
  auto walked = walking_->join();
  co_await std::move(walked);
  if (failure().is_early()) {
    give_up_messages();
    co_await tell_failure();
  }
  co_await collect();
  stop_listening();
  auto deaf = listening.join();
  co_await std::move(deaf);
  close();
  if (auto const e = failure(); e.is_early())
    throw error(e.code == ending::aborted ? operation_aborted()
                                          : make_error_code(static_cast<errc>(e.code)),
                e.story);
  co_return std::move(report_);
}

}  // namespace detail

namespace {

asio::awaitable<schedule_report> run_at(detail::walk_places places, schedule plan,
                                        stage_actions actions, schedule_options options) {
  auto const walk =
      std::make_shared<detail::schedule_walk>(places, std::move(plan), std::move(actions), options);
  std::exception_ptr why;
  try {
    auto running = walk->run();
    co_return co_await std::move(running);
  } catch (...) {
    why = std::current_exception();
  }
  walk->close();
  auto const cancellation = co_await asio::this_coro::cancellation_state;
  if (cancellation.cancelled() != asio::cancellation_type::none) {
    auto const reason = fmt::format("run_schedule at {} was cancelled in stage {}",
                                    to_string(places.site), places.stages.rank().value());
    places.stages.revoke(reason);
    places.peers.revoke(reason);
  }
  std::rethrow_exception(why);
}

}  // namespace

asio::awaitable<schedule_report> run_schedule(ParallelState const& state, schedule plan,
                                              stage_actions actions, schedule_options options,
                                              std::source_location site) {
  detail::walk_places p;
  p.stages = state.pp_group();
  p.peers = options.peers().value_or(state.tp_cp_group());
  p.executor = state.core()->executor;
  p.site = site;
  return run_at(std::move(p), std::move(plan), std::move(actions), std::move(options));
}

asio::awaitable<schedule_report> run_schedule(process_group const& stages, schedule plan,
                                              stage_actions actions, schedule_options options,
                                              std::source_location site) {
  detail::walk_places p;
  p.stages = stages;
  p.peers = options.peers().value_or(process_group());
  p.executor = stages.get_executor();
  p.site = site;
  return run_at(std::move(p), std::move(plan), std::move(actions), std::move(options));
}

}  // namespace hocket
