// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <hocket/async/runtime.hpp>
#include <hocket/group/group_options.hpp>
#include <hocket/group/process_group.hpp>
#include <hocket/topology/rank_group.hpp>
#include <memory>
#include <source_location>

namespace hocket {

namespace detail {
class world_core;
}

/// All ranks of a program, seen from one of them. A copyable handle; any thread may call.
class world {
 public:
  world() noexcept = default;

  /// The one that looks.
  [[nodiscard]] world_rank rank() const;
  /// Number of ranks.
  [[nodiscard]] int size() const;
  /// The group of all ranks, in rank order.
  [[nodiscard]] process_group group() const;
  /// Where this rank's handlers run unless they have an executor of their own.
  [[nodiscard]] boost::asio::any_io_executor get_executor() const;
  /// Whose clock measures this rank's deadlines.
  [[nodiscard]] runtime_handle const& get_runtime() const;
  /// "local", "host", "nccl": how this world moves bytes.
  [[nodiscard]] std::string_view engine_name() const;
  /// False for a default-made one, of which every other question is `errc::not_initialized`.
  [[nodiscard]] bool valid() const noexcept { return core_ != nullptr; }

  /// @cond
  explicit world(std::shared_ptr<detail::world_core> c) noexcept : core_(std::move(c)) {}
  [[nodiscard]] std::shared_ptr<detail::world_core> const& core() const;
  /// @endcond

 private:
  std::shared_ptr<detail::world_core> core_;
};

/// Makes a group of some ranks, in the order of the list. Only the members call; done when all
/// have. A caller outside the list gets `errc::not_a_member`, members that disagree
/// `errc::mismatch`.
///
/// Members disagree where they give one name and other lists. Default names are made from the list,
/// so calls with other lists are other groups there, which a member may still make, in any order:
/// that it never will only the deadline can tell. Its story names the lists that the missing
/// members wait with.
[[nodiscard]] work<process_group> make_group(
    world const& w, rank_group const& members, group_options const& options = {},
    std::source_location site = std::source_location::current());

}  // namespace hocket
