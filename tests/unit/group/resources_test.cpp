// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// What a process has open after hundreds of groups, worlds and runtimes: what it had before.
#include <doctest/doctest.h>
#include <unistd.h>

#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <hocket/async/runtime.hpp>
#include <hocket/detail/sanitized.hpp>
#include <hocket/group/detail/group_core.hpp>
#include <hocket/group/local_world.hpp>
#include <thread>
#include <vector>

using namespace hocket;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

std::int64_t entries(char const* folder) {
  return std::distance(std::filesystem::directory_iterator(folder),
                       std::filesystem::directory_iterator());
}

class open_now {
 public:
  open_now()
      : files(entries("/proc/self/fd")),
        threads(entries("/proc/self/task")),
        groups(detail::group_core::live()) {
    std::ifstream statm("/proc/self/statm");
    std::int64_t total = 0;
    statm >> total >> resident;
    resident *= sysconf(_SC_PAGESIZE);
  }
  std::int64_t files, threads, resident = 0;
  int groups;
};

void check_same(open_now const& before) {
  // The kernel needs a moment to take a thread that was joined out of its list.
  for (int i = 0; i < 100 && open_now().threads > before.threads; ++i)
    std::this_thread::sleep_for(1ms);
  open_now const after;
  CHECK(after.files == before.files);
  CHECK(after.threads == before.threads);
  CHECK(after.groups == before.groups);
#ifndef HOCKET_SANITIZED
  CHECK(after.resident - before.resident < 4 << 20);
#endif
}

void use(local_world& ranks, int round) {
  auto const members = round % 2 == 0 ? rank_group::of(0, 1, 2) : rank_group::of(2, 0, 1);
  std::vector<work<process_group>> made;
  std::vector<process_group> groups;
  std::vector<work<>> done;
  for (int r = 0; r < 3; ++r) made.push_back(make_group(ranks[r], members));
  for (auto const& m : made) groups.push_back(m.get(10s));
  for (auto const& g : groups) {
    done.push_back(g.channel(5).all_reduce(tensor::full(dtype::f32, {1000}, round)));
    g.channel(5).close_channel();
    done.push_back(g.barrier());
    static_cast<void>(g.recv(any_source));  // is never served
  }
  for (auto const& d : done) d.get(10s);
}

}  // namespace

TEST_CASE(
    "500 groups made, used and dropped leave files, threads, memory and groups as they were") {
  asio::thread_pool pool(1);
  local_world ranks(pool.get_executor(), 3);
  for (int i = 0; i < 100; ++i) use(ranks, i);
  open_now const before;
  for (int i = 0; i < 500; ++i) use(ranks, i);
  check_same(before);
}

TEST_CASE("100 runtimes and worlds leave files, threads, memory and groups as they were") {
  auto const once = [](int round) {
    runtime rt;
    asio::thread_pool pool(1);
    local_world ranks(pool.get_executor(), 3, local_world_options().runtime(rt));
    use(ranks, round);
    static_cast<void>(ranks[0].group().barrier());  // still open at the end
  };
  for (int i = 0; i < 20; ++i) once(i);
  open_now const before;
  for (int i = 0; i < 100; ++i) once(i);
  check_same(before);
}
