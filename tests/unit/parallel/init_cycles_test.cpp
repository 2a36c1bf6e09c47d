// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// What a process has open after a hundred states, meshes and moves: what it had before.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <hocket/detail/sanitized.hpp>
#include <hocket/group/detail/group_core.hpp>
#include <hocket/parallel/dtensor.hpp>
#include <hocket/parallel/model_parallel.hpp>
#include <hocket/pipeline/pp_scheduler.hpp>
#include <ranks.hpp>

using namespace hocket;
namespace asio = boost::asio;

namespace {

std::int64_t entries(char const* folder) {
  return std::distance(std::filesystem::directory_iterator(folder),
                       std::filesystem::directory_iterator());
}

class open_now {
 public:
  std::int64_t files = entries("/proc/self/fd");
  std::int64_t threads = entries("/proc/self/task");
  std::int64_t shared_names = entries("/dev/shm");
  int groups = detail::group_core::live();
  [[nodiscard]] static std::int64_t resident() {
    std::ifstream statm("/proc/self/statm");
    std::int64_t total = 0;
    std::int64_t pages = 0;
    statm >> total >> pages;
    return pages * ::sysconf(_SC_PAGESIZE);
  }
};

asio::awaitable<void> live_and_die(world w, int cycles) {
  for (int i = 0; i < cycles; ++i) {
    auto s = co_await initialize_model_parallel(w, i % 2 == 0 ? 2 : 1, 2);
    init_pp_scheduler(s);
    device_mesh const mesh(s, mesh_axes(axis::dp, axis::tp));
    auto const whole = tensor::arange(dtype::f32, {5, 3});
    placements const rows(replicate(), shard(0));
    auto const x = distribute_tensor(whole, mesh, rows);
    auto back = co_await full_tensor(x);
    CHECK(equal(back, whole));
    co_await destroy_model_parallel(s, i % 3 != 0);
    auto own = co_await init_device_mesh(w, shape(2, 4));
    co_await own.close();
  }
  auto last = co_await initialize_model_parallel(w, 4, 2);  // takes over what was kept
  co_await destroy_model_parallel(last);
  co_await w.group().barrier();
}

}  // namespace

TEST_CASE("100 times initialised, used and destroyed: groups, files, threads, memory as before") {
  test::run_ranks(8, [](world w) { return live_and_die(w, 20); });  // what is pooled is there now
  open_now const before;
  auto const resident = open_now::resident();
  test::run_ranks(8, [](world w) { return live_and_die(w, 100); });
  open_now const after;
  CHECK(after.groups == before.groups);
  CHECK(after.files == before.files);
  CHECK(after.threads == before.threads);
  CHECK(after.shared_names == before.shared_names);
#ifndef HOCKET_SANITIZED
  CHECK(open_now::resident() - resident < 4 << 20);
#else
  static_cast<void>(resident);
#endif
}
