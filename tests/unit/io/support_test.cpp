// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdlib>
#include <hocket/error.hpp>
#include <hocket/log.hpp>

#include "io_support.hpp"
#include "refusal.hpp"

using namespace hocket_test;

namespace {

// From here on the process's system call `number` fails with `error`.
void deny(unsigned number, unsigned error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog const program{std::size(filter), filter};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    ::_exit(77);
}

void limit(int resource, rlim_t n) {
  rlimit const r{n, n};
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &r);
}

// What the probe says, which poller is taken by default and whether it works, and how io_uring
// fails where it is asked for.
std::string choices() {
  ::unsetenv("HOCKET_IO");
  auto const support = io::probe_uring();
  auto text = "probe: " + support.reason + " (" + support.code.message() + "); ";
  auto const p = io::make_poller();
  test_stream a, b;
  auto ends = unix_pair();
  p->add(std::move(ends.ours), a);
  p->add(std::move(ends.theirs), b);
  a.queue("works");
  p->kick(a);
  if (drive(*p, [&] { return b.in == "works"; })) text += std::string(p->name()) + " works; ";
  try {
    auto const q = io::make_poller(io::poller_kind::io_uring);
    text += "explicit: " + std::string(q->name());
  } catch (error const& e) {
    text += "explicit: " + e.code().message() + ": " + e.what();
  }
  return text;
}

bool has(std::string const& text, char const* part) { return text.find(part) != text.npos; }

std::size_t count(std::string const& text, std::string const& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("where io_uring's set-up is denied, epoll works and io_uring fails with the reason") {
  struct {
    unsigned error;
    char const* message;
    char const* cause;
  } const denials[] = {{EPERM, "Operation not permitted", "seccomp"},
                       {ENOSYS, "Function not implemented", "a kernel without io_uring"},
                       {ENOMEM, "Cannot allocate memory", "RLIMIT_MEMLOCK"}};
  for (auto const& d : denials) {
    auto const text = in_child([&] {
      deny(__NR_io_uring_setup, d.error);
      return choices();
    });
    CAPTURE(text);
    CHECK(has(text, "epoll works; "));
    CHECK(count(text, std::string("io_uring_setup: ") + d.message) == 2);
    CHECK(count(text, d.cause) == 2);
    CHECK(has(text, ("explicit: " + std::string(d.message) + ": io_uring: ").c_str()));
  }
}

TEST_CASE("a filter that allows the set-up and denies the rest is found out") {
  struct {
    unsigned call;
    char const* step;
  } const denials[] = {{__NR_io_uring_enter, "io_uring_enter: Operation not permitted"},
                       {__NR_io_uring_register, "io_uring_register (operations): "}};
  for (auto const& d : denials) {
    auto const text = in_child([&] {
      deny(d.call, EPERM);
      return choices();
    });
    CAPTURE(text);
    CHECK(has(text, "epoll works; "));
    CHECK(count(text, d.step) == 2);
    CHECK(has(text, "explicit: Operation not permitted: io_uring: "));
  }
}

TEST_CASE("a filter that comes while the ring is in use ends its streams with the code") {
  if (!io::probe_uring().usable) return;
  auto const text = in_child([&]() -> std::string {
    set_log_threshold(log_level::off);
    test_stream busy, idle, late;
    int gone = 0;
    {
      io::uring_poller p;
      auto ends = unix_pair(), others = unix_pair(), removed = unix_pair();
      p.add(std::move(ends.ours), busy);
      p.add(std::move(others.ours), idle);
      p.add(std::move(removed.ours), late);
      busy.queue(pattern(8UL << 20));
      p.kick(busy);
      if (!rests(p)) return "does not rest";
      deny(__NR_io_uring_enter, EPERM);
      p.remove(late, [&] { ++gone; });
      p.kick(idle);
      if (!drive(p, [&] { return busy.is_over() && idle.is_over() && gone == 1; })) return "hangs";
      if (!rests(p)) return "does not rest at the end";
    }
    return busy.why.message() + ", " + idle.why.message();
  });
  CHECK(text == "Operation not permitted, Operation not permitted");
}

TEST_CASE("without locked memory io_uring works or says that this is why not") {
  auto const text = in_child([&] {
    limit(RLIMIT_MEMLOCK, 0);
    // A privileged user is not counted.
    if (::getuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(78);
    return choices();
  });
  CAPTURE(text);
  CHECK(has(text, "epoll works; "));
  bool const is_usable = has(text, "probe: usable") && has(text, "explicit: io_uring");
  bool const is_told = count(text, "RLIMIT_MEMLOCK, is 0 bytes") == 2;
  CHECK(is_usable != is_told);
}

TEST_CASE("with one descriptor left there is no room for a ring, with none for nothing") {
  auto const with_left = [](int n, io::poller_kind kind) {
    return in_child([&]() -> std::string {
      int const next = ::dup(0);
      ::close(next);
      limit(RLIMIT_NOFILE, static_cast<rlim_t>(next + n));
      try {
        return std::string(io::make_poller(kind)->name());
      } catch (error const& e) {
        return e.code() == boost::system::errc::too_many_files_open ? "too many" : e.what();
      }
    });
  };
  CHECK(with_left(1, io::poller_kind::epoll) == "epoll");
  CHECK(with_left(1, io::poller_kind::io_uring) == "too many");
  CHECK(with_left(0, io::poller_kind::epoll) == "too many");
  CHECK(with_left(0, io::poller_kind::io_uring) == "too many");
}

TEST_CASE("HOCKET_IO chooses, and an unknown value is refused") {
  auto const with = [](char const* value) {
    return in_child([&]() -> std::string {
      ::setenv("HOCKET_IO", value, 1);
      return test::refusal([] {
        auto const p = io::make_poller();
        throw error(errc::invalid_argument, std::string(p->name()));
        return 0;
      });
    });
  };
  CHECK(with("epoll") == "epoll");
  CHECK(with("auto") == "epoll");
  CHECK(with("") == "epoll");
  if (io::probe_uring().usable) CHECK(with("io_uring") == "io_uring");
  CHECK(has(with("uring"), "HOCKET_IO is 'uring'; it may be auto, epoll or io_uring"));
  auto const denied = in_child([] {
    deny(__NR_io_uring_setup, EPERM);
    ::setenv("HOCKET_IO", "io_uring", 1);
    return test::refusal([] { return io::make_poller(); }, errc::invalid_argument);
  });
  CHECK(has(denied, "another code"));
  CHECK(has(denied, "Operation not permitted"));
}
