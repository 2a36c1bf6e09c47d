// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "outward_address.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <hocket/error.hpp>
#include <memory>

#include "base/unique_fd.hpp"

namespace hocket {

io::address outward_address(std::string const& host, std::uint16_t port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  auto const service = std::to_string(port == 0 ? 9 : port);
  int const code = ::getaddrinfo(host.c_str(), service.c_str(), &wanted, &found);
  if (code != 0)
    throw error(errc::invalid_argument, host + " cannot be resolved: " + ::gai_strerror(code));
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> const all(found, ::freeaddrinfo);
  for (auto const* a = found; a != nullptr; a = a->ai_next) {
    detail::unique_fd const s(::socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (s.get() < 0 || ::connect(s.get(), a->ai_addr, a->ai_addrlen) != 0) continue;
    return io::address::local_of(s.get()).with_port(0);
  }
  throw error(errc::invalid_argument, "no interface of this host leads to " + host);
}

}  // namespace hocket
