// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <sys/types.h>

#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>

namespace hocket::host {

/// Copies bytes out of another process's memory (cross-memory attach, process_vm_readv(2)).
/// `address` and the count come from that process: what is not mapped there is an error, never a
/// signal here. The code is the system's: EPERM where reading it is not permitted, ESRCH where the
/// process is gone, EFAULT where it has no such memory.
[[nodiscard]] boost::system::error_code read_memory(::pid_t process, std::uint64_t address,
                                                    std::byte* to, std::size_t bytes) noexcept;

}  // namespace hocket::host
