// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <hocket/error.hpp>
#include <hocket/group/detail/group_core.hpp>
#include <hocket/group/detail/world_core.hpp>
#include <hocket/group/local_world.hpp>
#include <mutex>
#include <utility>

#include "fabric.hpp"
#include "joiner.hpp"
#include "local_endpoint.hpp"
#include "presence.hpp"

namespace hocket {
namespace local {

bool local_endpoint::supports(op_kind kind, dtype type, reduction red) const noexcept {
  return !is_reducing(kind) || is_reducible(type, red);
}

namespace {

// One rank's way into groups. It dies with the last handle of the rank's world.
class local_engine final : public engine {
 public:
  local_engine(std::shared_ptr<joiner> j, int rank) : joiner_(std::move(j)), rank_(rank) {}
  ~local_engine() override {
    leave(errc::group_closed, "the last handle of its world was dropped");
  }
  void leave(errc code, std::string const& reason) noexcept { joiner_->leave(rank_, code, reason); }
  std::string_view name() const noexcept override { return "local"; }
  work<std::shared_ptr<endpoint>> join(group_spec spec, detail::port_ptr home,
                                       std::source_location site) override {
    return joiner_->join(spec, std::move(home), site);
  }

 private:
  std::shared_ptr<joiner> const joiner_;
  int const rank_;
};

}  // namespace
}  // namespace local

class local_world::ranks {
 public:
  ranks(boost::asio::any_io_executor ex, int n, local_world_options const& options)
      : executor_(std::move(ex)) {
    if (n < 1)
      throw error(errc::invalid_argument,
                  fmt::format("a local_world of {} ranks: there must be at least one", n));
    auto const rt = options.runtime().handle();
    auto const home = detail::port_of(executor_);
    if (!home)
      throw error(errc::invalid_argument,
                  "a local_world needs an executor, the one given is empty");
    fabric_ = std::make_shared<local::fabric>(rt, n);
    auto const j = std::make_shared<local::joiner>(fabric_, n);
    std::vector<work<std::shared_ptr<endpoint>>> joined;
    std::vector<group_spec> specs;
    std::vector<std::shared_ptr<local::local_engine>> engines;
    for (int r = 0; r < n; ++r) {
      group_spec spec;
      spec.name = "world";
      spec.members = rank_group::consecutive(world_rank(0), n);
      spec.rank = group_rank(r);
      spec.deadline = options.deadline();
      engines.push_back(std::make_shared<local::local_engine>(j, r));
      joined.push_back(engines.back()->join(spec, home, std::source_location::current()));
      specs.push_back(std::move(spec));
    }
    for (int r = 0; r < n; ++r) {
      auto const i = static_cast<std::size_t>(r);
      auto core = std::make_shared<detail::world_core>(world_rank(r), n, executor_, rt, engines[i]);
      core->all = detail::group_of(specs[i], joined[i].state()->take(), rt, home);
      worlds_.emplace_back(std::move(core));
    }
    failures_.resize(static_cast<std::size_t>(n));
  }

  int size() const noexcept { return static_cast<int>(failures_.size()); }

  world at(int rank) const {
    expect_rank(rank);
    std::lock_guard const lock(mutex_);
    world const w = worlds_[static_cast<std::size_t>(rank)];
    if (!w.valid())
      throw error(errc::group_closed, fmt::format("the program of rank {} has ended", rank));
    return w;
  }

  void began(int rank) { fabric_->rank(rank)->program_began(); }
  // The rank's program has ended: this object's own reference must not keep it in its groups.
  void ended(int rank, std::exception_ptr e) {
    world w;
    {
      std::lock_guard const lock(mutex_);
      auto const i = static_cast<std::size_t>(rank);
      if (!failures_[i]) failures_[i] = e;  // of several programs, the first one's
      if (e && !first_) first_ = e;
      w = std::exchange(worlds_[i], world());
    }
    auto const& presence = fabric_->rank(rank);
    if (!e || !w.valid()) return presence->program_ended();
    auto const why = "its program ended: " + local::what_of(e);
    presence->lost(errc::peer_lost, why);
    presence->program_ended();
    static_cast<local::local_engine&>(*w.core()->engine).leave(errc::peer_lost, why);
  }

  std::exception_ptr failure(int rank) const {
    expect_rank(rank);
    std::lock_guard const lock(mutex_);
    return failures_[static_cast<std::size_t>(rank)];
  }
  std::exception_ptr first() const {
    std::lock_guard const lock(mutex_);
    return first_;
  }
  boost::asio::any_io_executor const& executor() const noexcept { return executor_; }

 private:
  void expect_rank(int rank) const {
    if (rank >= 0 && rank < size()) return;
    throw error(
        errc::invalid_argument,
        fmt::format("rank {} of a local_world of {}: ranks are 0 to {}", rank, size(), size() - 1));
  }

  boost::asio::any_io_executor const executor_;
  std::shared_ptr<local::fabric> fabric_;
  mutable std::mutex mutex_;
  std::vector<world> worlds_;
  std::vector<std::exception_ptr> failures_;
  std::exception_ptr first_;
};

local_world::local_world(boost::asio::any_io_executor executor, int n,
                         local_world_options const& options)
    : ranks_(std::make_shared<ranks>(std::move(executor), n, options)) {}

local_world::~local_world() = default;

int local_world::size() const noexcept { return ranks_->size(); }
world local_world::operator[](int rank) const { return ranks_->at(rank); }
std::exception_ptr local_world::failure(int rank) const { return ranks_->failure(rank); }

void local_world::rethrow() const {
  if (auto const e = ranks_->first()) std::rethrow_exception(e);
}

namespace {

// Keeps the callable alive as long as the coroutine it made: a lambda's captures live in it.
boost::asio::awaitable<void> run_rank(std::function<boost::asio::awaitable<void>(world)> rank_main,
                                      world w) {
  co_await rank_main(std::move(w));
}

}  // namespace

void local_world::spawn(int rank, std::function<boost::asio::awaitable<void>(world)> rank_main) {
  auto program = run_rank(std::move(rank_main), ranks_->at(rank));
  ranks_->began(rank);
  boost::asio::co_spawn(ranks_->executor(), std::move(program),
                        [r = ranks_, rank](std::exception_ptr e) { r->ended(rank, e); });
}

void local_world::spawn(std::function<boost::asio::awaitable<void>(world)> rank_main) {
  for (int r = 0; r < size(); ++r) spawn(r, rank_main);
}

}  // namespace hocket
