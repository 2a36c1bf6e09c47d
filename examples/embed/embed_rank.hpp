// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/awaitable.hpp>
#include <hocket/group/world.hpp>

#include "embed_job.hpp"

namespace embed {

/// The program of one rank of cp * pp: takes its part in every request of rank 0's client. Needs
/// nothing but a world, so that ranks may be coroutines of one process or processes.
///
/// The world's executor is one thread or a strand. Throws what failed on this rank; otherwise what
/// a failing rank said to its peers (`errc::revoked`). Ends only when nothing of it runs any more.
/// `job` must outlive it.
[[nodiscard]] boost::asio::awaitable<void> embed_rank(hocket::world w, embed_job const& job);

}  // namespace embed
