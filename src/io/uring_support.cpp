// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "io/uring_support.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <hocket/error.hpp>
#include <memory>

#include "io/transfer.hpp"

namespace hocket::io {
namespace {

// Not COOP_TASKRUN, SINGLE_ISSUER or DEFER_TASKRUN: any thread may submit, and its operations have
// to complete while it is busy elsewhere.
constexpr unsigned optional_flags[] = {IORING_SETUP_SUBMIT_ALL, IORING_SETUP_CLAMP};
constexpr unsigned needed_features = IORING_FEAT_NODROP | IORING_FEAT_FAST_POLL;
constexpr struct {
  int code;
  char const* name;
} needed_operations[] = {
    {IORING_OP_NOP, "NOP"},
    {IORING_OP_SENDMSG, "SENDMSG"},
    {IORING_OP_RECVMSG, "RECVMSG"},
    {IORING_OP_SEND, "SEND"},
    {IORING_OP_RECV, "RECV"},
    {IORING_OP_POLL_ADD, "POLL_ADD"},
    {IORING_OP_ASYNC_CANCEL, "ASYNC_CANCEL"},
};

std::string disabled_setting() {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const file(
      std::fopen("/proc/sys/kernel/io_uring_disabled", "re"), &std::fclose);
  int value = 0;
  if (!file || std::fscanf(file.get(), "%d", &value) != 1) return "not readable";
  return std::to_string(value);
}

std::string usual_cause(int error) {
  switch (error) {
    case EPERM:
    case EACCES:
      return fmt::format(
          "a seccomp filter, as containers have one, or kernel.io_uring_disabled (it is {})",
          disabled_setting());
    case ENOSYS:
      return "a kernel without io_uring, or a seccomp filter that hides it";
    case ENOMEM: {
      rlimit limit{};
      ::getrlimit(RLIMIT_MEMLOCK, &limit);
      return fmt::format("the limit of locked memory, RLIMIT_MEMLOCK, is {} bytes", limit.rlim_cur);
    }
    case EMFILE: {
      rlimit limit{};
      ::getrlimit(RLIMIT_NOFILE, &limit);
      return fmt::format("the process may have {} descriptors, RLIMIT_NOFILE", limit.rlim_cur);
    }
    default:
      return "unexpected";
  }
}

uring_support refused(char const* step, int error) {
  auto const code = system_code(error);
  return {false, code, fmt::format("{}: {}: {}", step, code.message(), usual_cause(error)), 0, 0};
}

int set_up(io_uring& ring, unsigned entries, unsigned& flags) {
  io_uring_params params{};
  params.flags = flags;
  int rc = io_uring_queue_init_params(entries, &ring, &params);
  for (unsigned const flag : optional_flags) {
    if (rc != -EINVAL) break;
    flags &= ~flag;
    params = {};
    params.flags = flags;
    rc = io_uring_queue_init_params(entries, &ring, &params);
  }
  return -rc;
}

uring_support check_operations(io_uring& ring) {
  auto const free_probe = [](io_uring_probe* p) { io_uring_free_probe(p); };
  errno = EPERM;  // liburing tells only that it failed
  std::unique_ptr<io_uring_probe, decltype(free_probe)> const probe(io_uring_get_probe_ring(&ring),
                                                                    free_probe);
  if (!probe) return refused("io_uring_register (operations)", errno);
  for (auto const& operation : needed_operations) {
    if (io_uring_opcode_supported(probe.get(), operation.code) != 0) continue;
    auto const reason = fmt::format("this kernel's io_uring has no {}", operation.name);
    return {false, make_error_code(errc::unsupported), reason, 0, 0};
  }
  return {true, {}, {}, 0, 0};
}

uring_support try_nop(io_uring& ring) {
  io_uring_sqe* const sqe = io_uring_get_sqe(&ring);
  io_uring_prep_nop(sqe);
  io_uring_sqe_set_data64(sqe, 1);
  int const rc = io_uring_submit_and_wait(&ring, 1);
  if (rc < 0) return refused("io_uring_enter", -rc);
  io_uring_cqe* cqe = nullptr;
  if (int const peeked = io_uring_peek_cqe(&ring, &cqe); peeked != 0)
    return refused("a NOP was submitted and did not complete", -peeked);
  int const result = cqe->res;
  io_uring_cqe_seen(&ring, cqe);
  if (result != 0) return refused("a NOP failed", -result);
  return {true, {}, {}, 0, 0};
}

uring_support try_out(io_uring& ring) {
  if (unsigned const missing = needed_features & ~ring.features; missing != 0)
    return {false, make_error_code(errc::unsupported),
            fmt::format("this kernel's io_uring lacks features 0x{:x} (it has 0x{:x})", missing,
                        ring.features),
            0, 0};
  auto const operations = check_operations(ring);
  return operations.usable ? try_nop(ring) : operations;
}

}  // namespace

uring_support open_ring(io_uring& ring, unsigned entries) {
  unsigned flags = 0;
  for (unsigned const flag : optional_flags) flags |= flag;
  if (int const error = set_up(ring, entries, flags); error != 0)
    return refused("io_uring_setup", error);
  auto support = try_out(ring);
  support.flags = flags;
  support.features = ring.features;
  if (support.usable) {
    support.reason = "usable";
  } else {
    io_uring_queue_exit(&ring);
  }
  return support;
}

uring_support probe_uring() {
  io_uring ring{};
  auto const support = open_ring(ring, 8);
  if (support.usable) io_uring_queue_exit(&ring);
  return support;
}

}  // namespace hocket::io
