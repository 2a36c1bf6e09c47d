// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <hocket/async/op_options.hpp>
#include <hocket/async/work.hpp>
#include <hocket/group/store.hpp>
#include <hocket/launch/environment.hpp>
#include <hocket/launch/store_server.hpp>
#include <memory>
#include <source_location>

namespace hocket {

/// The store of a job as one of its ranks has it; on the rank that hosts it, the server, too. A
/// copyable handle: the last copy closes both, at once.
class rendezvous {
 public:
  rendezvous() noexcept = default;
  /// Of a store, and of the server if this rank hosts it.
  explicit rendezvous(std::shared_ptr<hocket::store> s,
                      std::shared_ptr<store_server> host = nullptr) noexcept
      : store_(std::move(s)), server_(std::move(host)) {}

  /// Null for a world of one, which meets nobody and opens no port.
  [[nodiscard]] std::shared_ptr<hocket::store> const& store() const noexcept { return store_; }
  /// Whether this rank serves the store.
  [[nodiscard]] bool is_host() const noexcept { return server_ != nullptr; }

  /// Leaves the store: its pending calls end with `errc::group_closed`. The host waits, until the
  /// deadline, for the others to leave before it stops serving; the others are done at once.
  [[nodiscard]] work<> leave(op_options const& options = {},
                             std::source_location site = std::source_location::current());

 private:
  std::shared_ptr<hocket::store> store_;
  std::shared_ptr<store_server> server_;
};

/// Meets the other ranks of the job at its store; done when it answers this rank.
///
/// The launcher's store is used if there is one (PyTorch's too: without a secret of ours). Else
/// rank 0 hosts it, at the master's address or, without one, on an abstract Unix socket of this
/// host named by user and job, which serves this user only. An address that this host does not have
/// is the system's error with the address. The deadline is that of the call, else of the options.
/// The executor's context must outlive the result.
[[nodiscard]] work<rendezvous> open_store(
    boost::asio::any_io_executor const& ex, launch_options const& options,
    op_options const& call = {}, std::source_location site = std::source_location::current());

}  // namespace hocket
