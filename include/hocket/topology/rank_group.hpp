// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <hocket/topology/rank.hpp>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hocket {

/// An ordered set of world ranks: the members of a group, at their group ranks.
/// A value: copies are cheap (they share a list, if there is one). A group that a grid made stores
/// no list at all, however many members it has. Const access is safe from any thread.
class rank_group {
 public:
  class iterator;

  /// No members.
  rank_group() noexcept = default;

  /// Exactly these members in exactly this order. A negative or repeated rank is
  /// `errc::invalid_argument`.
  explicit rank_group(std::vector<world_rank> members);

  /// `rank_group::of(3, 2, 1, 0)`: the same from plain numbers.
  template <std::same_as<int>... Ranks>
  [[nodiscard]] static rank_group of(Ranks... ranks) {
    std::array<int, sizeof...(Ranks)> const list{ranks...};
    return from(list);
  }
  /// The members as plain numbers, with the errors of the constructor.
  [[nodiscard]] static rank_group from(std::span<int const> ranks);

  /// `count` ranks first, first + 1, …, without a list.
  [[nodiscard]] static rank_group consecutive(world_rank first, int count);

  /// Number of members.
  [[nodiscard]] int size() const noexcept { return count_; }
  /// Whether it has no members.
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

  /// The member at a place that the caller knows to be in [0, size()).
  [[nodiscard]] world_rank operator[](group_rank place) const noexcept;

  /// The member at this place; `errc::not_a_member` outside [0, size()).
  [[nodiscard]] world_rank at(group_rank place) const;

  /// Where a rank stands in this group; nullopt if it is no member. O(1), O(log n) in a list.
  [[nodiscard]] std::optional<group_rank> group_rank_of(world_rank rank) const noexcept;
  /// Whether the rank is a member. O(1), O(log n) in a list.
  [[nodiscard]] bool contains(world_rank rank) const noexcept {
    return group_rank_of(rank).has_value();
  }

  /// The smallest member. Not for an empty group.
  [[nodiscard]] world_rank lowest() const noexcept;

  /// The members at places first, first + stride, … (`count` of them), in that order.
  /// `errc::invalid_argument` if one is outside the group.
  [[nodiscard]] rank_group slice(group_rank first, int count, int stride = 1) const;

  /// @{
  /// The members in group order. An iterator refers to the group, which must outlive it unmoved.
  [[nodiscard]] iterator begin() const noexcept;
  [[nodiscard]] iterator end() const noexcept;
  /// @}

  /// Equal on every host and in every process for equal lists. O(size).
  [[nodiscard]] std::uint64_t hash() const noexcept;

  /// Same members in the same order.
  friend bool operator==(rank_group const& a, rank_group const& b) noexcept;

 private:
  friend class rank_grid;
  // A list, with an index for look-ups.
  struct list {
    std::vector<world_rank> members;
    std::vector<group_rank> by_rank;  // places in the order of their members' ranks
  };
  // Without a list, a member is first_ + sum(coordinate * stride): one step for each axis along
  // which the members differ, the fastest first; a step's stride is above all that lies below it.
  struct step {
    int size = 1;
    int stride = 0;
    friend bool operator==(step const&, step const&) = default;
  };
  void add_step(int size, int stride) noexcept;

  int first_ = 0;
  int count_ = 0;
  int used_ = 0;
  std::array<step, 5> steps_{};
  std::shared_ptr<list const> list_;
};

/// Forward; it computes each member and refers to no memory of it.
class rank_group::iterator {
 public:
  /// @cond
  using iterator_category = std::forward_iterator_tag;
  using value_type = world_rank;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = world_rank;

  iterator() noexcept = default;
  [[nodiscard]] world_rank operator*() const noexcept { return (*group_)[group_rank(place_)]; }
  iterator& operator++() noexcept { return ++place_, *this; }
  iterator operator++(int) noexcept {
    auto const before = *this;
    ++place_;
    return before;
  }
  friend bool operator==(iterator const& a, iterator const& b) noexcept {
    return a.place_ == b.place_;
  }
  /// @endcond

 private:
  friend class rank_group;
  iterator(rank_group const* group, int place) noexcept : group_(group), place_(place) {}
  rank_group const* group_ = nullptr;
  int place_ = 0;
};

inline rank_group::iterator rank_group::begin() const noexcept { return {this, 0}; }
inline rank_group::iterator rank_group::end() const noexcept { return {this, count_}; }

/// "[0,2,4]"; a long group shows its first members and its size, "[0,1,2,3,… 64 ranks]".
[[nodiscard]] std::string to_string(rank_group const& group);

}  // namespace hocket

/// Of the list of members; for containers.
template <>
struct std::hash<hocket::rank_group> {
  /// See `rank_group::hash`. O(size).
  std::size_t operator()(hocket::rank_group const& group) const noexcept {
    return static_cast<std::size_t>(group.hash());
  }
};
