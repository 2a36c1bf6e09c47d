// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "parallel_core.hpp"

#include <fmt/format.h>

namespace hocket::detail {

void parallel_core::expect_live() const {
  if (!live())
    throw error(errc::not_initialized,
                fmt::format("the ParallelState of world rank {} ({}) was destroyed",
                            plan.rank.value(), describe(plan.record())));
}

made_group parallel_core::made(std::size_t family) const {
  std::lock_guard const lock(mutex_);
  return groups_[family];
}

std::optional<group_table> parallel_core::retire() {
  std::shared_ptr<pp_scheduler_core> last;  // let go after the lock
  std::lock_guard const lock(mutex_);
  if (!std::exchange(live_, false)) return std::nullopt;
  last = std::exchange(scheduler_, nullptr);
  return std::exchange(groups_, {});
}

void parallel_core::set_scheduler(std::shared_ptr<pp_scheduler_core> s) {
  expect_live();
  std::lock_guard const lock(mutex_);
  if (scheduler_)
    throw error(errc::already_initialized,
                fmt::format("world rank {} has a PPScheduler: it ends with destroy_model_parallel",
                            plan.rank.value()));
  scheduler_ = std::move(s);
}

std::shared_ptr<pp_scheduler_core> parallel_core::scheduler() const {
  expect_live();
  std::lock_guard const lock(mutex_);
  if (scheduler_) return scheduler_;
  throw error(errc::not_initialized,
              fmt::format("world rank {} has no PPScheduler: call init_pp_scheduler first",
                          plan.rank.value()));
}

}  // namespace hocket::detail
