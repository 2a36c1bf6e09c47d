// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "memory_reader.hpp"

#include <sys/uio.h>

#include <cerrno>

namespace hocket::host {

boost::system::error_code read_memory(::pid_t process, std::uint64_t address, std::byte* to,
                                      std::size_t bytes) noexcept {
  while (bytes > 0) {
    iovec const here{to, bytes};
    iovec const there{reinterpret_cast<void*>(address), bytes};
    auto const n = ::process_vm_readv(process, &here, 1, &there, 1, 0);
    if (n <= 0) return {n < 0 ? errno : EFAULT, boost::system::system_category()};
    to += n;
    address += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
  return {};
}

}  // namespace hocket::host
