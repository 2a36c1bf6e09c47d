// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <hocket/async/promise.hpp>
#include <hocket/async/when_all.hpp>
#include <hocket/group/detail/world_core.hpp>
#include <vector>

#include "group/launch.hpp"
#include "parallel_core.hpp"

namespace hocket::detail {
namespace {

namespace asio = boost::asio;

// Channels of the world's group from here on are used to agree, one for each attempt.
constexpr std::uint64_t first_channel = 0x70617261'00000000u;  // "para"

// One attempt to initialise one rank.
class attempt {
 public:
  attempt(world w, std::shared_ptr<parallel_slot> s, blueprint p, std::int64_t e)
      : from(std::move(w)), slot(std::move(s)), plan(std::move(p)), epoch(e) {}

  world from;
  std::shared_ptr<parallel_slot> slot;
  blueprint plan;
  std::int64_t epoch;
  bool whole_world = true;
  process_group meeting;  // all ranks of the grid
  group_table kept;       // from the state before
  group_table groups;
};

// Names differ between groups that exist at the same time, also of grids beside each other.
std::string name_of(std::string_view kind, rank_group const& members, std::int64_t epoch) {
  auto name = fmt::format("{}{}", kind, members.lowest().value());
  return epoch == 0 ? name : fmt::format("{}e{}", name, epoch);
}

group_options options_of(attempt const& a, std::string_view kind, rank_group const& members) {
  group_options o;
  o.name(name_of(kind, members, a.epoch)).deadline(a.plan.timeout);
  return o;
}

process_group meeting_of(world const& w, std::int64_t epoch) {
  return w.group().channel(first_channel + static_cast<std::uint64_t>(epoch));
}

// Where all ranks of the grid meet: the world if they are all of it.
asio::awaitable<void> meet(attempt& a) {
  auto const& grid = a.plan.grid;
  a.whole_world = grid.size() == a.from.size();
  if (a.whole_world) {
    a.meeting = meeting_of(a.from, a.epoch);
    co_return;
  }
  auto const all = rank_group::consecutive(world_rank(grid.offset()), grid.size());
  auto const options = options_of(a, "grid", all);
  a.meeting = co_await make_group(a.from, all, options);
}

void close_all(group_table& groups) {
  for (auto g = groups.rbegin(); g != groups.rend(); ++g) static_cast<void>(g->group.close());
  groups = {};
}

// Compares what every rank says of the topology and of the groups it has kept.
asio::awaitable<void> agree(attempt& a, std::int64_t kept_from) {
  auto const record = a.plan.record();
  constexpr std::int64_t columns = record.size() + 1;
  auto in = tensor::empty(dtype::i64, shape(columns));
  std::ranges::copy(record, in.data<std::int64_t>());
  in.data<std::int64_t>()[record.size()] = kept_from;
  int const n = a.meeting.size();
  auto all = tensor::empty(dtype::i64, shape(std::int64_t{n}, columns));
  op_options options;
  options.deadline(a.plan.timeout);
  // Past the deadline of one rank the attempt is over for all: whoever comes later is told so.
  co_await a.meeting.monitored_barrier(options);
  co_await a.meeting.all_gather(all, in, options);

  bool keep = kept_from >= 0;
  topology_record first{};
  for (int r = 0; r < n; ++r) {
    auto const* const row = all.const_data<std::int64_t>() + r * columns;
    topology_record theirs{};
    std::copy_n(row, theirs.size(), theirs.begin());
    if (r == 0) first = theirs;
    if (theirs != first)
      throw error(
          errc::mismatch,
          fmt::format("ranks disagree on the topology: world rank {}: {}; world rank {}: {}",
                      a.plan.grid.offset(), describe(first), a.plan.grid.offset() + r,
                      describe(theirs)));
    keep = keep && row[record.size()] == kept_from;
  }
  if (!keep) close_all(a.kept);
}

// This rank's group of one kind: none, a kept one, or one that is being made.
void begin_group(attempt& a, std::size_t i, std::vector<std::size_t>& which,
                 std::vector<work<process_group>>& making) {
  auto const& kind = families[i];
  if (kind.of_experts && !a.plan.expert) return;
  auto const& grid = kind.of_experts ? a.plan.expert->grid() : a.plan.grid;
  auto& made = a.groups[i];
  made.members = grid.group_of(a.plan.rank, kind.axes);
  if (made.members.size() == 1) return;
  if (auto& old = a.kept[i]; !old.group.is_disabled() && old.members == made.members) {
    made.group = std::exchange(old, {}).group;
    made.group.set_deadline(a.plan.timeout);
    return;
  }
  auto const options = options_of(a, kind.name, made.members);
  which.push_back(i);
  making.push_back(make_group(a.from, made.members, options));
}

// All groups at once: every rank starts its own in the same order, so none waits for another kind.
asio::awaitable<void> make_groups(attempt& a) {
  std::vector<std::size_t> which;
  std::vector<work<process_group>> making;
  for (std::size_t i = 0; i < families.size(); ++i) begin_group(a, i, which, making);
  auto made = co_await when_all(std::move(making));
  for (std::size_t i = 0; i < which.size(); ++i) a.groups[which[i]].group = std::move(made[i]);
}

asio::awaitable<void> carry_out(attempt& a) {
  std::int64_t kept_from = -1;
  {
    std::lock_guard const lock(a.slot->mutex);
    kept_from = std::exchange(a.slot->kept_from, -1);
    a.kept = std::exchange(a.slot->kept, {});
  }
  co_await meet(a);
  co_await agree(a, kept_from);
  co_await make_groups(a);
  // Nobody has the state before everybody can have it.
  op_options options;
  options.deadline(a.plan.timeout);
  co_await a.meeting.monitored_barrier(options);
}

asio::awaitable<std::shared_ptr<parallel_core>> initialise(world w,
                                                           std::shared_ptr<parallel_slot> s,
                                                           blueprint plan, std::int64_t epoch) {
  attempt a(std::move(w), std::move(s), std::move(plan), epoch);
  std::exception_ptr failure;
  try {
    co_await carry_out(a);
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) close_all(a.groups);
  close_all(a.kept);  // no group of the new topology has these members
  if (a.whole_world) {
    a.meeting.close_channel();
  } else {
    static_cast<void>(a.meeting.close());
  }
  if (failure) std::rethrow_exception(failure);
  co_return std::make_shared<parallel_core>(a.plan, std::move(a.groups), a.from);
}

}  // namespace

std::shared_ptr<parallel_slot> parallel_slot::of(world const& w) {
  return std::static_pointer_cast<parallel_slot>(w.core()->attachment(
      [] { return std::static_pointer_cast<void>(std::make_shared<parallel_slot>()); }));
}

void decline_parallel(world const& w, error const& why, std::source_location site) {
  auto const slot = parallel_slot::of(w);
  std::int64_t epoch = 0;
  {
    std::lock_guard const lock(slot->mutex);
    if (slot->active) return;  // the others do not meet: they have a state, too
    epoch = slot->epochs++;
  }
  auto const meeting = meeting_of(w, epoch);
  op_options const options;
  calling const c(*meeting.core(), meeting.channel_state(), options, site);
  auto const fail = [&why](request&) { throw why; };
  work<> const told(launch<signal_op>(c, op_kind::monitored_barrier, fail));
  told.async_wait([](boost::system::error_code) {});  // the caller gets it from its own handle
  meeting.close_channel();
}

work<ParallelState> start_parallel(world const& w, blueprint plan, std::source_location site) {
  auto const slot = parallel_slot::of(w);
  auto const record = plan.record();
  auto const outcome = std::make_shared<promise<ParallelState>>(w.get_executor(), site);
  std::int64_t epoch = 0;
  {
    std::lock_guard const lock(slot->mutex);
    if (slot->active && *slot->active != record)
      return refused<ParallelState>(
          error(errc::already_initialized,
                fmt::format(
                    "world rank {} has {}; asked for is {}: destroy it first, or reshape() it",
                    plan.rank.value(), describe(*slot->active), describe(record))),
          "initialize_model_parallel", site);
    if (slot->state) return make_ready_work(port_of(w.get_executor()), ParallelState(slot->state));
    if (slot->active) return slot->starting;
    slot->active = record;
    slot->starting = outcome->get_work();
    epoch = slot->epochs++;
  }
  auto result = outcome->get_work();
  asio::co_spawn(w.get_executor(), initialise(w, slot, std::move(plan), epoch),
                 [slot, outcome, epoch](std::exception_ptr e, std::shared_ptr<parallel_core> core) {
                   {
                     std::lock_guard const lock(slot->mutex);
                     slot->starting = work<ParallelState>();
                     slot->state = core;
                     slot->state_epoch = epoch;
                     if (e) slot->active.reset();
                   }
                   if (e) return outcome->fail(e);
                   outcome->set(ParallelState(std::move(core)));
                 });
  return result;
}

work<> end_parallel(std::shared_ptr<parallel_core> const& core, bool close_groups,
                    std::source_location site) {
  auto groups = core ? core->retire() : std::nullopt;
  if (!groups) return make_ready_work();
  if (auto const home = core->home.lock()) {
    auto const slot = parallel_slot::of(world(home));
    std::lock_guard const lock(slot->mutex);
    slot->state.reset();
    slot->active.reset();
    if (!close_groups) {
      slot->kept = *std::move(groups);
      slot->kept_from = slot->state_epoch;
      return make_ready_work();
    }
  }
  std::vector<work<>> closing;
  for (auto g = groups->rbegin(); g != groups->rend(); ++g) closing.push_back(g->group.close());
  return when_all(std::move(closing), site);
}

}  // namespace hocket::detail
