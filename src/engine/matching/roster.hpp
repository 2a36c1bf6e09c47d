// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <hocket/async/detail/op_base.hpp>
#include <hocket/error.hpp>
#include <hocket/group/engine.hpp>
#include <optional>
#include <string>
#include <vector>

namespace hocket::matching {

/// Why a member will not come any more.
struct departure {
  errc code = errc::group_closed;
  std::string reason;
};

/// The members of a group, those that have left it, and the words for messages.
class roster {
 public:
  explicit roster(group_spec const& spec);

  [[nodiscard]] int size() const noexcept { return static_cast<int>(gone_.size()); }
  [[nodiscard]] std::string const& label() const noexcept { return label_; }
  /// False: it had left before.
  bool leave(int rank, departure why);
  [[nodiscard]] std::optional<departure> const& departure_of(int rank) const noexcept {
    return gone_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] int gone() const noexcept { return gone_count_; }

  /// "rank 1 (world rank 5)"
  [[nodiscard]] std::string name_rank(int rank) const;
  /// "cp[0,1] ch 7 #41"
  [[nodiscard]] std::string place(request const& r) const;
  /// What the peers of a request that failed on its own rank are told.
  [[nodiscard]] detail::failure failed_peer(request const& r) const;

 private:
  rank_group const members_;
  std::string const label_;
  std::vector<std::optional<departure>> gone_;
  int gone_count_ = 0;
};

/// The members of a group that still take part in one channel of it.
class attendance {
 public:
  attendance(roster const& all, std::uint64_t channel);

  [[nodiscard]] roster const& all() const noexcept { return *all_; }
  [[nodiscard]] int size() const noexcept { return all_->size(); }
  void close(int rank);
  [[nodiscard]] bool has_closed(int rank) const noexcept {
    return closed_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] bool is_gone(int rank) const noexcept {
    return has_closed(rank) || all_->departure_of(rank).has_value();
  }
  [[nodiscard]] bool anyone_gone() const noexcept { return closed_count_ + all_->gone() != 0; }
  [[nodiscard]] bool everyone_gone() const noexcept;
  /// Nobody is left who could send something to this member.
  [[nodiscard]] bool is_deserted(int rank) const noexcept;
  /// What a request is told that needs a member who is gone.
  [[nodiscard]] detail::failure absent(int rank, request const& r) const;

 private:
  roster const* all_;
  std::uint64_t channel_;
  std::vector<bool> closed_;
  int closed_count_ = 0;
};

/// The text of an exception.
[[nodiscard]] std::string what_of(std::exception_ptr const& e);

}  // namespace hocket::matching
