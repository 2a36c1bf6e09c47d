// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/awaitable.hpp>
#include <hocket/group/process_group.hpp>
#include <hocket/group/world.hpp>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "report.hpp"

namespace hocket::conformance {

/// A group that operations are tried on, as one member sees it.
class seat {
 public:
  seat(world const& w, std::string how, process_group g);
  process_group group;
  std::string engine;
  std::string grouping;  ///< "reversed"
  int ranks;             ///< of the world
  int world_rank_;
  [[nodiscard]] int me() const noexcept { return group.rank().value(); }
  [[nodiscard]] int n() const noexcept { return group.size(); }
};

/// The groups of a sweep that this rank is in: all ranks, the reversed order, without rank 0, every
/// second one from the end. To be called by all ranks.
[[nodiscard]] boost::asio::awaitable<std::vector<seat>> seats_of(world w);

/// One operation with one choice of everything it depends on; the same on all members but for the
/// seat. Names a failure with all of it.
class trial {
 public:
  trial(seat p, std::string op);
  seat at;
  std::string operation;
  hocket::dtype dtype = hocket::dtype::u8;
  reduction how = reduction::sum;
  extents part;  ///< of each rank's tensor, where they are equal
  form in = form::contiguous;
  form out = form::contiguous;
  std::uint64_t seed = 0;    ///< of the data and the root
  std::uint64_t replay = 0;  ///< what HOCKET_SEED must be to try it again
  bool is_reduction = false;

  [[nodiscard]] int me() const noexcept { return at.me(); }
  [[nodiscard]] int n() const noexcept { return at.n(); }
  [[nodiscard]] group_rank root() const;
  [[nodiscard]] bool is_root() const { return me() == root().value(); }
  /// A rank's own part: any bits, or numbers that can be reduced.
  [[nodiscard]] array data(int rank) const { return data(rank, part); }
  [[nodiscard]] array data(int rank, extents const& e) const;
  /// All parts along dimension 0.
  [[nodiscard]] extents whole() const;

  /// Fails unless the elements are the expected ones and the memory around them is untouched.
  void expect(buffer& b, array const& expected) const;
  void expect(array const& got, array const& expected) const;
  /// Fails for what the words say.
  void fail(std::string const& expected, std::string const& got) const;
  [[nodiscard]] trial_name name() const;
};

/// An operation of a sweep.
struct tried {
  char const* name;
  boost::asio::awaitable<void> (*run)(trial);
};

}  // namespace hocket::conformance
