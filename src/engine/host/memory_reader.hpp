// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <sys/types.h>

#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>

namespace hocket::host {

/// A number of 32 bits at a fixed place of this process's memory, random at first. It changes when
/// memory that others may be reading is given back to its owner: who finds it unchanged after a
/// read has read what was meant for him.
[[nodiscard]] std::uint32_t seal_of_this_process() noexcept;
[[nodiscard]] std::uint64_t address_of_seal() noexcept;
void break_seal() noexcept;

/// Where the Yama security module restricts it (kernel.yama.ptrace_scope = 1), a process may read
/// another one's memory only if that one has named it, or an ancestor of it: this names the parent,
/// a job's launcher on this host, whose children the ranks are. Nothing elsewhere.
void permit_siblings_to_read() noexcept;

/// What lies in another process.
struct foreign_bytes {
  ::pid_t process = 0;
  std::uint64_t address = 0;
  std::size_t bytes = 0;
  std::uint64_t seal_address = 0;
};

/// Copies bytes out of another process's memory (cross-memory attach, process_vm_readv(2)), and
/// its seal after them. Addresses and count come from that process: what is not mapped there is an
/// error, never a signal here. The code is the system's: EPERM where reading it is not permitted,
/// ESRCH where the process is gone, EFAULT where it has no such memory.
[[nodiscard]] boost::system::error_code read_memory(foreign_bytes const& from, std::byte* to,
                                                    std::uint32_t& seal) noexcept;

}  // namespace hocket::host
