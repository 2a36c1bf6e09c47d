// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/awaitable.hpp>
#include <hocket/group/store.hpp>
#include <hocket/launch/environment.hpp>
#include <memory>
#include <vector>

#include "engine/host/peer_place.hpp"
#include "time_left.hpp"

namespace hocket {

/// Says at the store where this rank is, and learns where all ranks of the job are. A rank that
/// hosts the store goes on when all have learned it: it may leave then.
boost::asio::awaitable<std::vector<host::peer_place>> meet(std::shared_ptr<store> at,
                                                           launch_options const& options,
                                                           host::peer_place here, bool is_host,
                                                           time_left limit);

}  // namespace hocket
