// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <hocket/async/work.hpp>
#include <hocket/error.hpp>
#include <hocket/group/world.hpp>
#include <hocket/parallel/parallel_state.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <utility>

#include "blueprint.hpp"

namespace hocket::detail {

class pp_scheduler_core;

/// A group that a state has made, or kept from the one before.
class made_group {
 public:
  made_group() = default;
  rank_group members;
  process_group group;  ///< disabled for a group of one
};

using group_table = std::array<made_group, families.size()>;

/// One rank's state: what the handles of a `ParallelState` share. It does not hold the world, which
/// holds it.
class parallel_core {
 public:
  parallel_core(blueprint p, group_table g, world const& w)
      : plan(std::move(p)),
        place(plan.grid.at(plan.rank)),
        home(w.core()),
        executor(w.get_executor()),
        groups_(std::move(g)) {}

  blueprint const plan;
  coordinate const place;
  std::weak_ptr<world_core> const home;
  boost::asio::any_io_executor const executor;

  [[nodiscard]] bool live() const {
    std::lock_guard const lock(mutex_);
    return live_;
  }
  /// Throws `errc::not_initialized` after destruction.
  void expect_live() const;
  [[nodiscard]] made_group made(std::size_t family) const;

  /// The state's end: gives its groups out, once; later calls get nothing. The scheduler goes.
  [[nodiscard]] std::optional<group_table> retire();

  /// Throws `errc::already_initialized` if there is one.
  void set_scheduler(std::shared_ptr<pp_scheduler_core> s);
  /// Throws `errc::not_initialized` if there is none.
  [[nodiscard]] std::shared_ptr<pp_scheduler_core> scheduler() const;

 private:
  mutable std::mutex mutex_;
  bool live_ = true;
  group_table groups_;
  std::shared_ptr<pp_scheduler_core> scheduler_;
};

/// What a world keeps between the states of its rank.
class parallel_slot {
 public:
  static std::shared_ptr<parallel_slot> of(world const& w);

  std::mutex mutex;
  std::optional<topology_record> active;  ///< set from the start of an initialisation on
  work<ParallelState> starting;           ///< not yet done
  std::shared_ptr<parallel_core> state;   ///< done
  std::int64_t epochs = 0;                ///< initialisations that went past the arithmetic
  std::int64_t kept_from = -1;            ///< the epoch whose groups are kept
  std::int64_t state_epoch = -1;
  group_table kept;  ///< by `destroy_model_parallel(state, false)`
};

/// Begins an initialisation of this rank, or finds the one that there is.
[[nodiscard]] work<ParallelState> start_parallel(world const& w, blueprint plan,
                                                 std::source_location site);

/// This rank cannot take part in the initialisation that the others may have begun: they are told
/// why, instead of waiting.
void decline_parallel(world const& w, error const& why, std::source_location site);

/// Ends the state; `close_groups`: also its groups, the last one first.
[[nodiscard]] work<> end_parallel(std::shared_ptr<parallel_core> const& core, bool close_groups,
                                  std::source_location site);

/// The handle of a call whose arguments are wrong.
template <class T>
[[nodiscard]] work<T> refused(error const& e, char const* call, std::source_location site) {
  boost::intrusive_ptr<value_state<T>> op(new value_state<T>(nullptr), false);
  op->mutable_info().operation = call;
  op->mutable_info().site = site;
  op->finish(make_failure(e.code(), to_string(op->info()) + ": " + e.what()));
  return work<T>(std::move(op));
}

}  // namespace hocket::detail
