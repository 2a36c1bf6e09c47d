// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/any_io_executor.hpp>

#include <hocket/async/detail/port.hpp>
#include <hocket/async/runtime.hpp>
#include <hocket/group/engine.hpp>
#include <hocket/group/process_group.hpp>
#include <map>
#include <memory>
#include <mutex>

namespace hocket::detail {

/// One rank's view of its world. Made by whoever makes worlds: `local_world`, `join`.
class world_core {
 public:
  world_core(world_rank me, int n, boost::asio::any_io_executor ex, runtime_handle r,
             std::shared_ptr<hocket::engine> e)
      : rank(me), size(n), executor(std::move(ex)), rt(std::move(r)), engine(std::move(e)) {}

  /// How many groups of this list this rank has made before; counts one more.
  [[nodiscard]] std::uint64_t count_group(std::uint64_t list_hash) {
    std::lock_guard const lock(mutex_);
    return made_[list_hash]++;
  }

  world_rank const rank;
  int const size;
  boost::asio::any_io_executor const executor;
  runtime_handle const rt;
  std::shared_ptr<hocket::engine> const engine;
  process_group all;  // set before the world is handed out

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> made_;
};

/// The group behind an endpoint that has joined.
[[nodiscard]] process_group group_of(group_spec spec, std::shared_ptr<endpoint> at, runtime_handle rt,
                                     port_ptr home);

}  // namespace hocket::detail
