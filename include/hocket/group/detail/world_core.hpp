// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <hocket/async/detail/port.hpp>
#include <hocket/async/runtime.hpp>
#include <hocket/group/engine.hpp>
#include <hocket/group/process_group.hpp>
#include <hocket/group/world.hpp>
#include <map>
#include <memory>
#include <mutex>

namespace hocket::detail {

/// One rank's view of its world. Made by whoever makes worlds: `local_world`, `join`.
class world_core : public std::enable_shared_from_this<world_core> {
 public:
  world_core(world_rank me, int n, boost::asio::any_io_executor ex, runtime_handle r,
             std::shared_ptr<hocket::engine> e)
      : rank(me), size(n), executor(std::move(ex)), rt(std::move(r)), engine(std::move(e)) {
    enlist();
  }
  ~world_core();
  world_core(world_core const&) = delete;
  world_core& operator=(world_core const&) = delete;

  /// How many groups of this list this rank has made before; counts one more.
  [[nodiscard]] std::uint64_t count_group(std::uint64_t list_hash) {
    std::lock_guard const lock(mutex_);
    return made_[list_hash]++;
  }

  /// What a layer above keeps for this rank as long as its world lives; made at the first call.
  [[nodiscard]] std::shared_ptr<void> attachment(std::shared_ptr<void> (*make)()) {
    std::lock_guard const lock(mutex_);
    if (!attachment_) attachment_ = make();
    return attachment_;
  }

  world_rank const rank;
  int const size;
  boost::asio::any_io_executor const executor;
  runtime_handle const rt;
  std::shared_ptr<hocket::engine> const engine;
  process_group all;  // set before the world is handed out

 private:
  void enlist();

  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> made_;
  std::shared_ptr<void> attachment_;
};

/// The world of the only rank that this process hosts. `errc::not_initialized` if it hosts none,
/// `errc::ambiguous_rank` if it hosts several.
[[nodiscard]] world only_world();

/// The group behind an endpoint that has joined.
[[nodiscard]] process_group group_of(group_spec spec, std::shared_ptr<endpoint> at,
                                     runtime_handle rt, port_ptr home,
                                     group_options const& options = group_options());

}  // namespace hocket::detail
