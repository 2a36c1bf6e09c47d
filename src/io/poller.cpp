// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "io/poller.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <hocket/error.hpp>

#include "io/epoll_poller.hpp"
#include "io/uring_poller.hpp"

namespace hocket::io {
namespace {

poller_kind kind_of_environment() {
  char const* const value = std::getenv("HOCKET_IO");
  std::string_view const wanted = value == nullptr ? "auto" : value;
  if (wanted == "auto" || wanted.empty()) return poller_kind::automatic;
  if (wanted == "epoll") return poller_kind::epoll;
  if (wanted == "io_uring") return poller_kind::io_uring;
  throw error(errc::invalid_argument,
              fmt::format("HOCKET_IO is '{}'; it may be auto, epoll or io_uring", wanted));
}

}  // namespace

std::unique_ptr<poller> make_poller(poller_kind kind) {
  if (kind == poller_kind::automatic) kind = kind_of_environment();
  switch (kind) {
    // On a par with io_uring while threads sleep (bench/sockets), far quicker where one asks again
    // and again: a completion of io_uring interrupts the thread that submitted. And no container
    // forbids it.
    case poller_kind::automatic:
    case poller_kind::epoll:
      return std::make_unique<epoll_poller>();
    case poller_kind::io_uring:
      return std::make_unique<uring_poller>();
  }
  throw error(errc::invalid_argument, fmt::format("{} is no poller_kind", static_cast<int>(kind)));
}

}  // namespace hocket::io
