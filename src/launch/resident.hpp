// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <hocket/async/detail/port.hpp>
#include <memory>

namespace hocket {

/// Keeps an object whose sockets and timers belong to an execution context: it is let go there,
/// whichever thread destroys this, or together with the context.
class resident {
 public:
  resident(boost::asio::any_io_executor const& ex, std::shared_ptr<void> what);
  ~resident();
  resident(resident const&) = delete;
  resident& operator=(resident const&) = delete;

 private:
  class house;
  house& house_;  // gone with the context
  std::uint64_t const key_;
  detail::port_ptr const home_;
};

}  // namespace hocket
