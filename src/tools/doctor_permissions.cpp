// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <optional>

#include "finding.hpp"
#include "io/uring_support.hpp"
#include "memory_trial.hpp"
#include "rank_process.hpp"

namespace hocket::tools {
namespace {

namespace json = boost::json;

finding look_at_uring() {
  auto const support = io::probe_uring();
  finding f{"io_uring", "io_uring", "", {{"usable", support.usable}, {"reason", support.reason}}};
  if (support.usable) {
    f.text = fmt::format("permitted (features 0x{:x}, set up with flags 0x{:x})", support.features,
                         support.flags);
    f.facts["features"] = support.features;
    f.facts["flags"] = support.flags;
  } else {
    f.text = fmt::format("refused: {}", support.reason);
  }
  return f;
}

finding look_at_peer_memory() {
  auto const code = try_reading_a_peer();
  finding f{"cma", "memory of a peer", "", {{"usable", !code}, {"bytes", trial_bytes}}};
  if (!code) {
    f.text = fmt::format("readable: one process copied {} out of another (process_vm_readv)",
                         bytes_text(trial_bytes));
  } else {
    f.text =
        fmt::format("not readable: process_vm_readv between two processes: {}", code.message());
    f.facts["reason"] = code.message();
  }
  return f;
}

finding look_at_yama() {
  auto const scope = first_line("/proc/sys/kernel/yama/ptrace_scope");
  finding f{"yama_ptrace_scope", "Yama", "", {{"scope", nullptr}}};
  if (scope.empty()) {
    f.text = "not in this kernel: processes of one user may read each other";
    return f;
  }
  f.facts["scope"] = scope;
  char const* const meaning = scope == "0"   ? "processes of one user may read each other"
                              : scope == "1" ? "a process may read only what it has started"
                              : scope == "2" ? "only an administrator may read other processes"
                                             : "no process may read another";
  f.text = fmt::format("ptrace_scope {}: {}", scope, meaning);
  return f;
}

finding look_at_shared_memory() {
  finding f{"dev_shm", "/dev/shm", "", {}};
  struct statvfs s {};
  if (::statvfs("/dev/shm", &s) != 0) {
    auto const code = boost::system::error_code(errno, boost::system::system_category());
    f.text = fmt::format("not there: {}", code.message());
    f.facts["bytes"] = nullptr;
    f.facts["reason"] = code.message();
    return f;
  }
  auto const all = s.f_blocks * s.f_frsize;
  auto const free = s.f_bavail * s.f_frsize;
  f.text = fmt::format("{}, {} of it free", bytes_text(all), bytes_text(free));
  f.facts["bytes"] = all;
  f.facts["free"] = free;
  return f;
}

finding look_at_limit(char const* key, char const* label, int which, bool is_bytes) {
  rlimit limit{};
  ::getrlimit(static_cast<__rlimit_resource>(which), &limit);
  auto const number = [](rlim_t n) { return n == RLIM_INFINITY ? json::value() : json::value(n); };
  auto const shown = [is_bytes](rlim_t n) {
    if (n == RLIM_INFINITY) return std::string("unlimited");
    return is_bytes ? bytes_text(n) : std::to_string(n);
  };
  return {key,
          label,
          fmt::format("{} (may be raised to {})", shown(limit.rlim_cur), shown(limit.rlim_max)),
          {{"soft", number(limit.rlim_cur)}, {"hard", number(limit.rlim_max)}}};
}

// What the engine and the launcher cannot do without: each is tried.
finding look_at_needed(char const* key, char const* label, char const* use, int fd) {
  finding f{key, label, "", {{"usable", fd >= 0}}};
  if (fd >= 0) {
    ::close(fd);
    f.text = fmt::format("there: {}", use);
    return f;
  }
  auto const code = boost::system::error_code(errno, boost::system::system_category());
  f.text = fmt::format("MISSING, {}: {}", code.message(), use);
  f.facts["reason"] = code.message();
  f.is_missing = true;
  return f;
}

}  // namespace

std::vector<finding> examine_permissions() {
  return {
      look_at_uring(),
      look_at_peer_memory(),
      look_at_yama(),
      look_at_shared_memory(),
      look_at_limit("memlock", "locked memory", RLIMIT_MEMLOCK, true),
      look_at_limit("nofile", "open files", RLIMIT_NOFILE, false),
      look_at_needed("unix_sockets", "Unix sockets", "ranks of one host talk over them",
                     ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      look_at_needed("tcp_sockets", "TCP sockets", "hosts talk over them, and ranks to the store",
                     ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      look_at_needed("memfd", "memory files", "a launcher hands its ranks the secret in one",
                     ::memfd_create("hocket-doctor", MFD_CLOEXEC))};
}

}  // namespace hocket::tools
