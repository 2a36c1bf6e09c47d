// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "memory_reader.hpp"

#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <random>

namespace hocket::host {
namespace {

// Never destroyed: it may be read until the process ends.
std::atomic<std::uint32_t>& seal_word() {
  static std::atomic<std::uint32_t> word{std::random_device()()};
  return word;
}

void skip(iovec& piece, std::size_t bytes) {
  piece.iov_base = static_cast<std::byte*>(piece.iov_base) + bytes;
  piece.iov_len -= bytes;
}

}  // namespace

std::uint32_t seal_of_this_process() noexcept { return seal_word().load(); }

std::uint64_t address_of_seal() noexcept {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&seal_word()));
}

// Before anything that the owner writes to the memory afterwards.
void break_seal() noexcept {
  ++seal_word();
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void permit_siblings_to_read() noexcept {
  if (auto const parent = ::getppid(); parent > 1)
    static_cast<void>(::prctl(PR_SET_PTRACER, static_cast<unsigned long>(parent), 0UL, 0UL, 0UL));
}

boost::system::error_code read_memory(foreign_bytes const& from, std::byte* to,
                                      std::uint32_t& seal) noexcept {
  std::array<iovec, 2> here{iovec{to, from.bytes}, iovec{&seal, sizeof seal}};
  std::array<iovec, 2> there{iovec{reinterpret_cast<void*>(from.address), from.bytes},
                             iovec{reinterpret_cast<void*>(from.seal_address), sizeof seal}};
  for (std::size_t first = 0; first < here.size();) {
    if (here[first].iov_len == 0) {
      ++first;
      continue;
    }
    auto const n = ::process_vm_readv(from.process, &here[first], here.size() - first,
                                      &there[first], there.size() - first, 0);
    if (n <= 0) return {n < 0 ? errno : EFAULT, boost::system::system_category()};
    auto left = static_cast<std::size_t>(n);
    for (std::size_t i = first; left > 0; ++i) {
      auto const part = std::min(left, here[i].iov_len);
      skip(here[i], part);
      skip(there[i], part);
      left -= part;
    }
  }
  return {};
}

}  // namespace hocket::host
