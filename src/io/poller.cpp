// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "io/poller.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <hocket/error.hpp>
#include <hocket/log.hpp>

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

void log_once(std::string_view line) {
  static std::atomic_flag said;
  if (!said.test_and_set()) log(log_level::info, line);
}

std::unique_ptr<poller> make_automatic() {
  try {
    auto made = std::make_unique<uring_poller>();
    log_once("sockets are moved with io_uring");
    return made;
  } catch (error const& e) {
    log_once(fmt::format("sockets are moved with epoll; {}", e.what()));
    return std::make_unique<epoll_poller>();
  }
}

}  // namespace

std::unique_ptr<poller> make_poller(poller_kind kind) {
  if (kind == poller_kind::automatic) kind = kind_of_environment();
  switch (kind) {
    case poller_kind::automatic:
      return make_automatic();
    case poller_kind::epoll:
      return std::make_unique<epoll_poller>();
    case poller_kind::io_uring:
      return std::make_unique<uring_poller>();
  }
  throw error(errc::invalid_argument, fmt::format("{} is no poller_kind", static_cast<int>(kind)));
}

}  // namespace hocket::io
