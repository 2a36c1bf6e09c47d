// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Counters near 2^31 and 2^32, byte counts past 4 GiB, and a message larger than 2^31 bytes.
#include <doctest/doctest.h>

#include <hocket/group/detail/first_sequence.hpp>
#include <long_mode.hpp>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "engine_under_test.hpp"
#include "outcome.hpp"

using namespace hocket;
using namespace hocket::conformance;
namespace asio = boost::asio;

namespace {

constexpr std::int64_t four_gib = std::int64_t{1} << 32;

// Channels that are opened meanwhile number their operations from there.
class counting_from {
 public:
  explicit counting_from(std::uint64_t n) { detail::first_sequence = n; }
  ~counting_from() { detail::first_sequence = 0; }
  counting_from(counting_from const&) = delete;
  counting_from& operator=(counting_from const&) = delete;
};

// Each kind of operation, the counters passing the limit in their midst.
asio::awaitable<void> pass(world w, std::uint64_t first) {
  auto const g = w.group();
  int const n = g.size();
  int const me = g.rank().value();
  for (int i = 0; i < 5; ++i) {
    auto const out = tensor::zeros(dtype::i32, {n});
    auto const gathered = g.all_gather(out, tensor::full(dtype::i32, {1}, 10 * i + me));
    CHECK(gathered.info().sequence == first + 2 * static_cast<std::uint64_t>(i));
    auto sent = g.send(tensor::full(dtype::i32, {1}, 100 * i + me), group_rank((me + 1) % n));
    auto const got = co_await g.recv(group_rank((me + n - 1) % n));
    CHECK(got.item<std::int32_t>(0) == 100 * i + (me + n - 1) % n);
    co_await std::move(sent);
    co_await work<>(gathered);
    for (int r = 0; r < n; ++r) CHECK(out.item<std::int32_t>(r) == 10 * i + r);
    auto const objects = co_await g.gather_objects(std::to_string(me), group_rank(n - 1));
    CHECK(objects.size() == static_cast<std::size_t>(me == n - 1 ? n : 0));
  }
  auto const other = tensor::zeros(me == 0 ? dtype::f32 : dtype::i32, {1});
  auto const odd = co_await outcome_of(g.broadcast(other, group_rank(0)));
  CHECK(odd.code == (n == 1 ? boost::system::error_code() : make_error_code(errc::mismatch)));
  if (n > 1) CHECK_MESSAGE(odd.tells(" #" + std::to_string(first + 10) + ": "), odd.story);
  co_await g.barrier();
}

asio::awaitable<void> in_the_midst(world w) {
  auto const first = detail::first_sequence.load();
  auto plain = pass(w, first);
  co_await std::move(plain);
  auto const c = w.group().channel((std::uint64_t{1} << 32) + 1);
  co_await c.barrier();
  c.close_channel();
}

// Counts that are equal but for what 32 bits would drop.
asio::awaitable<void> different_counts([[maybe_unused]] world w) {
#ifdef HOCKET_SANITIZED
  co_return;  // their shadow memory makes these large
#else
  auto const g = w.group();
  std::int64_t const rows = w.rank().value() == 0 ? four_gib + 5 : 5;
  auto const o =
      co_await outcome_of(g.broadcast(tensor::empty(dtype::u8, {rows}), group_rank(w.size() - 1)));
  CHECK(o.code == errc::mismatch);
  CHECK_MESSAGE(o.tells("u8[4294967301]"), o.story);
  CHECK_MESSAGE(o.tells("u8[5]"), o.story);
  co_await g.barrier();
#endif
}

// Of a tensor that ends past 4 GiB, only whose last bytes are touched: sent, received, gathered.
asio::awaitable<void> far_away([[maybe_unused]] world w) {
#ifdef HOCKET_SANITIZED
  co_return;
#else
  auto const g = w.group();
  int const n = g.size();
  int const me = g.rank().value();
  auto const far = tensor::empty(dtype::u8, {four_gib + 3000});
  auto const mine = patterned(dtype::u8, extents(1, 700), seed(), me);
  auto const place = far.slice(0, four_gib + 3, 700);
  buffer::write(place, mine);
  auto sent = g.send(place, group_rank((me + 1) % n));
  auto const there = far.slice(0, four_gib + 1000, 700);
  co_await g.recv(there, group_rank((me + n - 1) % n));
  co_await std::move(sent);
  auto const before = patterned(dtype::u8, extents(1, 700), seed(), (me + n - 1) % n);
  CHECK(buffer::read(there).bytes == before.bytes);
  auto const all = tensor::empty(dtype::u8, {700 * n});
  co_await g.all_gather(all, place);
  for (int r = 0; r < n; ++r)
    CHECK(buffer::read(all.slice(0, 700 * r, 700)).bytes ==
          patterned(dtype::u8, extents(1, 700), seed(), r).bytes);
#endif
}

// Other bytes on every page, and in every 4 GiB.
std::uint8_t byte_at(std::int64_t i) {
  auto const n = static_cast<std::uint64_t>(i);
  return static_cast<std::uint8_t>(n ^ (n >> 12) * 131 ^ (n >> 31));
}

asio::awaitable<void> large_message(world w) {
  auto const g = w.group();
  std::int64_t const bytes = (std::int64_t{1} << 31) + 17;
  auto const t = tensor::empty(dtype::u8, {bytes});
  auto* const data = t.data<std::uint8_t>();
  if (w.rank().value() == 0)
    for (std::int64_t i = 0; i < bytes; ++i) data[i] = byte_at(i);
  auto const patient = op_options().deadline(std::chrono::minutes(5));
  if (w.rank().value() == 0) co_await g.send(t, group_rank(1), patient);
  if (w.rank().value() == 1) {
    co_await g.recv(t, group_rank(0), patient);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < bytes; ++i) wrong += data[i] != byte_at(i);
    CHECK(wrong == 0);
  }
  co_await g.barrier(patient);
  co_await g.broadcast(t, group_rank(1), patient);
  CHECK(data[bytes - 1] == byte_at(bytes - 1));
}

}  // namespace

TEST_CASE("operations are matched and named alike when their numbers pass 2^31 and 2^32") {
  for (int bits : {31, 32}) {
    counting_from const near((std::uint64_t{1} << bits) - 4);
    for (int n : {1, 2, 3, 5}) run_everywhere(n, in_the_midst);
  }
}
TEST_CASE("counts that differ by 2^32 are a mismatch, not the same") {
  for (int n : {2, 3}) run(n, different_counts);
}
TEST_CASE("elements past 4 GiB move from where they are to where they belong") {
  for (int n : {2, 3}) run(n, far_away);
}
TEST_CASE("a message of 2^31 + 17 bytes arrives, in the long mode" *
          doctest::skip(!hocket::test::is_long_mode())) {
  run(2, large_message);
}
