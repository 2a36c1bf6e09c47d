// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "memory_trial.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <hocket/error.hpp>
#include <vector>

#include "engine/host/memory_reader.hpp"
#include "rank_process.hpp"

namespace hocket::tools {
namespace {

constexpr auto before = std::byte{0x11};
constexpr auto after = std::byte{0x5a};  // what only the giver's memory holds
constexpr int wrong_bytes = -1;

// Ends with this process if that is killed.
void live_with_parent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

void tell(int to, int what) {
  while (::write(to, &what, sizeof what) < 0 && errno == EINTR) {
  }
}

// What the other end told; `otherwise` if it ended without a word.
int hear(int from, int otherwise) {
  int what = otherwise;
  ssize_t got = 0;
  while ((got = ::read(from, &what, sizeof what)) < 0 && errno == EINTR) {
  }
  return got == static_cast<ssize_t>(sizeof what) ? what : otherwise;
}

[[noreturn]] void give(std::vector<std::byte>& memory, int ready) {
  live_with_parent();
  host::permit_siblings_to_read();  // as ranks do
  std::ranges::fill(memory, after);
  tell(ready, 0);
  for (;;) ::pause();
}

[[noreturn]] void take(pid_t giver, std::vector<std::byte> const& memory, int result) {
  live_with_parent();
  std::vector<std::byte> got(memory.size());
  host::foreign_bytes from;
  from.process = giver;
  from.address = reinterpret_cast<std::uintptr_t>(memory.data());
  from.bytes = memory.size();
  from.seal_address = host::address_of_seal();
  std::uint32_t seal = 0;
  auto const code = host::read_memory(from, got.data(), seal);
  bool const right = seal == host::seal_of_this_process() &&
                     std::ranges::all_of(got, [](std::byte b) { return b == after; });
  tell(result, code ? code.value() : right ? 0 : wrong_bytes);
  ::_exit(0);
}

void end(pid_t pid) {
  if (pid <= 0) return;
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

boost::system::error_code try_reading_a_peer() {
  std::vector<std::byte> memory(trial_bytes, before);
  auto ready = make_pipe();
  auto result = make_pipe();
  pid_t const giver = ::fork();
  if (giver < 0) return {errno, boost::system::system_category()};
  if (giver == 0) give(memory, ready.write.get());
  ready.write.reset();
  int code = hear(ready.read.get(), ESRCH);
  if (code == 0) {
    pid_t const taker = ::fork();
    if (taker == 0) take(giver, memory, result.write.get());
    code = taker < 0 ? errno : 0;
    result.write.reset();
    if (code == 0) code = hear(result.read.get(), ECHILD);
    end(taker);
  }
  end(giver);
  if (code == wrong_bytes) return make_error_code(errc::corrupt);
  return {code, boost::system::system_category()};
}

}  // namespace hocket::tools
