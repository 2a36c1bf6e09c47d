// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <algorithm>
#include <hocket/detail/assert.hpp>
#include <hocket/error.hpp>
#include <hocket/topology/rank_group.hpp>
#include <limits>

namespace hocket {

rank_group::rank_group(std::vector<world_rank> members) {
  if (members.empty()) return;
  if (members.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw error(errc::too_large, fmt::format("a group of {} ranks", members.size()));
  auto made = std::make_shared<list>();
  made->members = std::move(members);
  count_ = static_cast<int>(made->members.size());
  auto const member = [&](group_rank place) {
    return made->members[static_cast<std::size_t>(place.value())];
  };
  made->by_rank.reserve(made->members.size());
  for (int i = 0; i < count_; ++i) made->by_rank.emplace_back(i);
  std::ranges::sort(made->by_rank, {}, member);
  if (auto const lowest = member(made->by_rank.front()); lowest.value() < 0)
    throw error(errc::invalid_argument,
                fmt::format("rank {} in a group of {}: ranks begin at 0", lowest.value(), count_));
  if (auto const twice = std::ranges::adjacent_find(made->by_rank, {}, member);
      twice != made->by_rank.end())
    throw error(errc::invalid_argument,
                fmt::format("rank {} stands twice in a group of {}, at places {} and {}",
                            member(*twice).value(), count_, twice->value(), twice[1].value()));
  list_ = std::move(made);
}

rank_group rank_group::from(std::span<int const> ranks) {
  std::vector<world_rank> members;
  members.reserve(ranks.size());
  for (int r : ranks) members.emplace_back(r);
  return rank_group(std::move(members));
}

rank_group rank_group::consecutive(world_rank first, int count) {
  if (first.value() < 0 || count < 0 || first.value() > std::numeric_limits<int>::max() - count)
    throw error(errc::invalid_argument,
                fmt::format("{} ranks from rank {} on: ranks are 0 to {}", count, first.value(),
                            std::numeric_limits<int>::max()));
  rank_group group;
  if (count == 0) return group;
  group.first_ = first.value();
  group.count_ = 1;
  group.add_step(count, 1);
  return group;
}

void rank_group::add_step(int size, int stride) noexcept {
  count_ *= size;
  if (size == 1) return;
  if (used_ > 0) {
    auto& last = steps_[static_cast<std::size_t>(used_ - 1)];
    if (last.stride * last.size == stride) {  // both are one longer step
      last.size *= size;
      return;
    }
  }
  steps_[static_cast<std::size_t>(used_++)] = {size, stride};
}

world_rank rank_group::operator[](group_rank place) const noexcept {
  HOCKET_ASSERT(place.value() >= 0 && place.value() < count_);
  if (list_) return list_->members[static_cast<std::size_t>(place.value())];
  int rank = first_;
  int rest = place.value();
  for (int i = 0; i < used_; ++i) {
    auto const& s = steps_[static_cast<std::size_t>(i)];
    bool const last = i + 1 == used_;
    rank += (last ? rest : rest % s.size) * s.stride;
    if (!last) rest /= s.size;
  }
  return world_rank(rank);
}

world_rank rank_group::at(group_rank place) const {
  if (place.value() >= 0 && place.value() < count_) return (*this)[place];
  throw error(errc::not_a_member,
              fmt::format("group rank {} of a group of {}", place.value(), count_));
}

std::optional<group_rank> rank_group::group_rank_of(world_rank rank) const noexcept {
  if (list_) {
    auto const member = [&](group_rank place) {
      return list_->members[static_cast<std::size_t>(place.value())];
    };
    auto const found = std::ranges::lower_bound(list_->by_rank, rank, {}, member);
    if (found == list_->by_rank.end() || member(*found) != rank) return std::nullopt;
    return *found;
  }
  if (count_ == 0 || rank.value() < first_) return std::nullopt;
  int rest = rank.value() - first_;
  int place = 0;
  for (int i = used_; i-- > 0;) {
    auto const& s = steps_[static_cast<std::size_t>(i)];
    int const coordinate = rest / s.stride;
    if (coordinate >= s.size) return std::nullopt;
    rest -= coordinate * s.stride;
    place = place * s.size + coordinate;
  }
  if (rest != 0) return std::nullopt;
  return group_rank(place);
}

world_rank rank_group::lowest() const noexcept {
  HOCKET_ASSERT(count_ > 0);
  return list_ ? (*this)[list_->by_rank.front()] : world_rank(first_);
}

rank_group rank_group::slice(group_rank first, int count, int stride) const {
  auto const last = first.value() + (static_cast<std::int64_t>(count) - 1) * stride;
  if (first.value() < 0 || count < 1 || stride < 1 || last >= count_)
    throw error(errc::invalid_argument, fmt::format("{} members from place {} with stride {} of a "
                                                    "group of {}",
                                                    count, first.value(), stride, count_));
  std::vector<world_rank> members;
  members.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    members.push_back((*this)[group_rank(first.value() + i * stride)]);
  return rank_group(std::move(members));
}

std::uint64_t rank_group::hash() const noexcept {
  // The names of groups carry this value between hosts: it must never depend on one of them.
  auto h = static_cast<std::uint64_t>(count_) + 0x9e3779b97f4a7c15u;
  for (auto const rank : *this) {
    h = (h ^ static_cast<std::uint64_t>(rank.value())) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  }
  return h;
}

bool operator==(rank_group const& a, rank_group const& b) noexcept {
  if (a.count_ != b.count_) return false;
  if (!a.list_ && !b.list_)  // steps are merged, so equal ranks have equal steps
    return a.count_ == 0 || (a.first_ == b.first_ && a.used_ == b.used_ && a.steps_ == b.steps_);
  return a.list_ == b.list_ || std::equal(a.begin(), a.end(), b.begin());
}

std::string to_string(rank_group const& group) {
  constexpr int shown_max = 16;
  constexpr int shown_of_long = 4;
  std::string out = "[";
  int const shown = group.size() > shown_max ? shown_of_long : group.size();
  for (int i = 0; i < shown; ++i)
    out += fmt::format("{}{}", i == 0 ? "" : ",", group[group_rank(i)].value());
  if (shown < group.size()) out += fmt::format(",… {} ranks", group.size());
  return out + "]";
}

}  // namespace hocket
