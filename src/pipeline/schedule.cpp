// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <hocket/error.hpp>
#include <hocket/pipeline/schedule.hpp>
#include <utility>

namespace hocket {
namespace {

void check_count(char const* what, std::size_t count) {
  if (count == 0) throw error(errc::invalid_argument, fmt::format("a schedule without {}", what));
  if (count > static_cast<std::size_t>(schedule::count_max))
    throw error(errc::too_large,
                fmt::format("{} {} are more than {}", count, what, schedule::count_max));
}

}  // namespace

schedule::schedule(std::string name, std::vector<int> rank_of_stage, int microbatches,
                   std::vector<std::vector<action>> actions)
    : name_(std::move(name)),
      rank_of_stage_(std::move(rank_of_stage)),
      microbatches_(microbatches),
      actions_(std::move(actions)) {
  check_count("ranks", actions_.size());
  check_count("stages", rank_of_stage_.size());
  check_count("microbatches", microbatches < 0 ? 0 : static_cast<std::size_t>(microbatches));
  for (std::size_t s = 0; s < rank_of_stage_.size(); ++s)
    if (rank_of_stage_[s] < 0 || rank_of_stage_[s] >= ranks())
      throw error(errc::invalid_argument,
                  fmt::format("stage {} is on rank {} of {}", s, rank_of_stage_[s], ranks()));
  for (auto const& list : actions_) size_ += static_cast<std::int64_t>(list.size());
  if (size_ > actions_max)
    throw error(errc::too_large, fmt::format("{} actions are more than {}", size_, actions_max));
  for (int rank = 0; rank < ranks(); ++rank)
    for (std::size_t i = 0; auto const& a : this->actions(rank)) take_note(a, rank, i++);
}

void schedule::take_note(action const& a, int rank, std::size_t index) {
  auto const refuse = [&](std::string const& why) {
    throw error(errc::invalid_argument,
                fmt::format("{}, action {} of rank {}: {}", to_string(a), index, rank, why));
  };
  if (a.stage() >= stages()) refuse(fmt::format("there are {} stages", stages()));
  if (rank_of(a.stage()) != rank)
    refuse(fmt::format("stage {} is on rank {}", a.stage(), rank_of(a.stage())));
  if (a.microbatch() >= microbatches_)
    refuse(fmt::format("there are {} microbatches", microbatches_));
  has_communication_ |= a.is_communication();
  has_backward_ |= a.is_compute() && a.kind() != action_kind::forward;
}

int schedule::rank_of(int stage) const {
  if (stage < 0 || stage >= stages())
    throw error(errc::invalid_argument, fmt::format("stage {} of {}", stage, stages()));
  return rank_of_stage_[static_cast<std::size_t>(stage)];
}

std::vector<int> schedule::stages_of(int rank) const {
  std::vector<int> held;
  for (int s = 0; s < stages(); ++s)
    if (rank_of_stage_[static_cast<std::size_t>(s)] == rank) held.push_back(s);
  return held;
}

std::span<action const> schedule::actions(int rank) const {
  if (rank < 0 || rank >= ranks())
    throw error(errc::invalid_argument, fmt::format("rank {} of {}", rank, ranks()));
  return actions_[static_cast<std::size_t>(rank)];
}

}  // namespace hocket
