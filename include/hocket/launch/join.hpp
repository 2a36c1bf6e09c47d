// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <hocket/async/op_options.hpp>
#include <hocket/async/work.hpp>
#include <hocket/group/world.hpp>
#include <hocket/launch/environment.hpp>
#include <source_location>

namespace hocket {

/// This process as one rank of its job: meets the others at the job's store and connects to them.
/// Done when all ranks have come.
///
/// A world of one is of the `local` engine unless `host` is asked for, and opens no port. Else the
/// `host` engine: Unix sockets and the memory of the peer between processes of one host, TCP
/// between hosts. Connections are authenticated with the job's secret, if there is one, and not
/// encrypted.
///
/// The deadline is that of the call, else `launch_options::timeout`, for all of it together; past
/// it `errc::timed_out` names the ranks that have not come. Bad or duplicate ranks are
/// `errc::invalid_argument` or `errc::mismatch`, a peer that dies meanwhile `errc::peer_lost`.
/// The world leaves all its groups when its last handle is dropped: what is queued still goes out,
/// for at most 500 ms; calls that still wait then end with `errc::group_closed`. The executor's
/// context must outlive it.
///
/// SIGUSR1 logs, on a rank that gets it, each call that is pending, since when, and who has not
/// come; `HOCKET_LOG=debug` does so whenever a deadline passes. A program that handles or ignores
/// the signal before it joins keeps it. In a child forked from a rank, calls of its groups are
/// `errc::not_initialized`.
[[nodiscard]] work<world> join(boost::asio::any_io_executor const& ex,
                               launch_options const& options = launch_options::from_environment(),
                               op_options const& call = {},
                               std::source_location site = std::source_location::current());

}  // namespace hocket
