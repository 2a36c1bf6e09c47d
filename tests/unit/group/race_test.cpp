// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Threads that use one group at once, and ends that race.
#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <functional>
#include <hocket/detail/sanitized.hpp>
#include <hocket/group/local_world.hpp>
#include <thread>
#include <vector>

#include "ending.hpp"
#include "long_mode.hpp"

using namespace hocket;
using namespace hocket::test;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

#ifdef HOCKET_SANITIZED
int const rounds = 1000;
#else
int const rounds = is_long_mode() ? 100'000 : 10'000;
#endif
auto const count = static_cast<std::size_t>(rounds);

// Both at once, `rounds` times; `step` is where they meet.
void race(std::function<void(int)> const& a, std::function<void(int)> const& b) {
  std::atomic<int> at_a{0};
  std::atomic<int> at_b{0};
  std::thread other([&] {
    for (int i = 0; i < rounds; ++i) {
      at_b.store(i + 1);
      while (at_a.load() <= i) std::this_thread::yield();
      b(i);
    }
  });
  for (int i = 0; i < rounds; ++i) {
    at_a.store(i + 1);
    while (at_b.load() <= i) std::this_thread::yield();
    a(i);
  }
  other.join();
}

}  // namespace

TEST_CASE("a receive cancelled while its message arrives ends once, and no message is lost") {
  asio::thread_pool pool(1);
  local_world ranks(pool.get_executor(), 2);
  auto const wide = group_options().window(4 * count, std::uint64_t{1} << 30);
  auto const a = make_group(ranks[0], rank_group::of(0, 1), wide);
  auto const b = make_group(ranks[1], rank_group::of(0, 1), wide);
  auto const to = a.get(10s);
  auto const from = b.get(10s);
  std::vector<work<tensor>> received;
  std::vector<canceller> cancellers;
  for (int i = 0; i < rounds; ++i) {
    received.push_back(to.recv(group_rank(1), op_options().tag(static_cast<std::uint64_t>(i))));
    cancellers.push_back(received.back().get_canceller());
  }
  race([&](int i) { cancellers[static_cast<std::size_t>(i)].cancel(); },
       [&](int i) {
         from.send(tensor::full(dtype::i32, {1}, i), group_rank(0),
                   op_options().tag(static_cast<std::uint64_t>(i)));
       });
  int wrong = 0;
  for (int i = 0; i < rounds; ++i) {
    auto const& op = *received[static_cast<std::size_t>(i)].state();
    if (!op.settled() || !op.finished()) ++wrong;
    bool const withdrawn = op.engine_failure() != nullptr;
    bool const aborted = op.state() == detail::verdict::aborted;
    if (withdrawn && !aborted) ++wrong;
    auto const rest =
        to.recv(group_rank(1), op_options().tag(static_cast<std::uint64_t>(i)).deadline(0ms));
    if (rest.state()->failed() == withdrawn) ++wrong;  // the message is there if nobody took it
  }
  CHECK(wrong == 0);
}

TEST_CASE("a group revoked while its operations meet ends each of them once") {
  asio::thread_pool pool(1);
  local_world ranks(pool.get_executor(), 2);
  int wrong = 0;
  std::vector<std::vector<process_group>> groups;
  for (int i = 0; i < rounds; ++i) {
    auto const a = make_group(ranks[0], rank_group::of(0, 1));
    auto const b = make_group(ranks[1], rank_group::of(0, 1));
    groups.push_back({a.get(1s), b.get(1s)});
  }
  std::vector<work<>> mine(count);
  std::vector<work<>> theirs(count);
  std::vector<work<tensor>> messages(count);
  race(
      [&](int i) {
        auto const n = static_cast<std::size_t>(i);
        mine[n] = groups[n][0].barrier();
        groups[n][0].send(tensor::zeros(dtype::u8, {1}), group_rank(1));
        groups[n][0].revoke("a race");
      },
      [&](int i) {
        auto const n = static_cast<std::size_t>(i);
        theirs[n] = groups[n][1].barrier();
        messages[n] = groups[n][1].recv(group_rank(0));
        groups[n][1] = process_group();
      });
  for (std::size_t i = 0; i < count; ++i) {
    if (!mine[i].ready() || !theirs[i].ready() || !messages[i].ready()) ++wrong;
    if (mine[i].state()->failed() != theirs[i].state()->failed()) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("several threads of a rank use a group's channels at once") {
  constexpr int threads = 4;
  int const ops = rounds / 50;
  asio::thread_pool pool(1);
  local_world ranks(pool.get_executor(), 2);
  std::atomic<int> wrong{0};
  std::vector<std::thread> all;
  for (int r = 0; r < 2; ++r) {
    auto const g = ranks[r].group();
    for (int t = 0; t < threads; ++t)
      all.emplace_back([=, &wrong] {
        for (int i = 0; i < ops; ++i) {
          auto const c = g.channel(static_cast<std::uint64_t>(1 + (i % 3) * threads + t));
          auto out = tensor::zeros(dtype::i32, {2});
          auto const done = c.all_gather(out, tensor::full(dtype::i32, {1}, 1000 * t + i));
          auto const key = static_cast<std::uint64_t>(1000 * t + i);
          auto const sent = c.send(tensor::full(dtype::i32, {1}, i), group_rank(1 - r));
          auto const got = c.recv(group_rank(1 - r)).get(10s);
          g.keyed(key).barrier().get(10s);
          done.get(10s);
          sent.get(10s);
          if (got.item<std::int32_t>(0) != i) ++wrong;
          if (out.item<std::int32_t>(1 - r) != 1000 * t + i) ++wrong;
          c.close_channel();
        }
      });
  }
  for (auto& t : all) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("groups are made, used and dropped by all ranks at once") {
  constexpr int n = 3;
  asio::thread_pool pool(1);
  local_world ranks(pool.get_executor(), n);
  std::atomic<int> wrong{0};
  std::vector<std::thread> all;
  for (int r = 0; r < n; ++r)
    all.emplace_back([&, r] {
      for (int i = 0; i < rounds / 20; ++i) {
        auto const g = make_group(ranks[r], rank_group::of(2, 0, 1)).get(10s);
        auto const sum = tensor::full(dtype::i32, {1}, r + i);
        g.all_reduce(sum).get(10s);
        if (sum.item<std::int32_t>(0) != 3 + 3 * i) ++wrong;
        auto const lost = g.recv(group_rank(i % n));  // ends when its peer drops the group
        static_cast<void>(lost);
      }
    });
  for (auto& t : all) t.join();
  CHECK(wrong == 0);
}
