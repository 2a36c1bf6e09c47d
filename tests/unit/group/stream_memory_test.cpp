// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Memory of operations between streams: it is given back when the engine is done, not before.
#include <doctest/doctest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <hocket/async/stream.hpp>
#include <memory>
#include <vector>

#include "virtual_world.hpp"

using namespace hocket;
using namespace hocket::test;

namespace {

// The allocator hands a block that was given back to the next who asks for its size.
constexpr std::int64_t length = 70'001;

tensor fresh() { return tensor::empty(dtype::f32, {length}); }

}  // namespace

TEST_CASE("memory dropped while an operation waits for a stream is not handed out again") {
  boost::asio::io_context worker;  // runs when the test says so
  host_stream side(worker.get_executor());
  virtual_world v(2);
  auto out = fresh();
  std::byte const* held = nullptr;
  work<> sum;
  {
    auto t = fresh();
    held = t.const_bytes();
    auto* const elements = t.data<float>();
    side.enqueue([=] { std::fill_n(elements, length, 3.0F); });
    sum = v.group(0).all_reduce(out, t, reduction::sum, op_options().after(side));
    sum.wait_on(side);
  }  // only the operation knows the memory now
  auto other = fresh();
  CHECK(other.const_bytes() != held);
  std::fill_n(other.data<float>(), length, 100.0F);
  auto const peer = v.group(1).all_reduce(tensor::full(dtype::f32, {length}, 4));
  CHECK_FALSE(sum.ready());
  float seen = 0;
  side.enqueue([&] { seen = out.const_data<float>()[length - 1]; });
  worker.run();
  CHECK_FALSE(now(sum).code);
  CHECK_FALSE(now(peer).code);
  CHECK(seen == 7);
  CHECK(equal(out, tensor::full(dtype::f32, {length}, 7)));
  CHECK(equal(other, tensor::full(dtype::f32, {length}, 100)));
  CHECK(sum.released().ready());
}

TEST_CASE("memory of a cancelled operation stays with it until the engine has let go") {
  virtual_world v(2);
  std::byte const* held = nullptr;
  work<> gather;
  auto out = tensor::zeros(dtype::f32, {2 * length});
  {
    auto const in = tensor::full(dtype::f32, {length}, 5);
    held = in.const_bytes();
    gather = v.group(0).all_gather(out, in);
  }
  gather.get_canceller().cancel();
  CHECK(gather.ready());
  CHECK_FALSE(gather.released().ready());
  auto reused = tensor::full(dtype::f32, {length}, -1);
  CHECK(reused.const_bytes() != held);
  auto theirs = tensor::zeros(dtype::f32, {2 * length});
  auto const peer = v.group(1).all_gather(theirs, tensor::full(dtype::f32, {length}, 6));
  CHECK_FALSE(now(peer).code);
  CHECK(gather.released().ready());
  CHECK(equal(theirs.slice(0, 0, length), tensor::full(dtype::f32, {length}, 5)));
  CHECK(equal(reused, tensor::full(dtype::f32, {length}, -1)));
}

TEST_CASE("64 operations of 8 streams on one thread end in the order of each stream") {
  constexpr int streams = 8;
  constexpr int rounds = 8;
  boost::asio::io_context worker;
  std::vector<std::unique_ptr<host_stream>> all;
  std::vector<std::vector<float>> seen(streams);
  virtual_world v(2);
  for (int i = 0; i < streams; ++i)
    all.push_back(std::make_unique<host_stream>(worker.get_executor()));
  for (int round = 0; round < rounds; ++round)
    for (int i = 0; i < streams; ++i) {
      auto& stream = *all[static_cast<std::size_t>(i)];
      auto const g = v.group(0).channel(static_cast<std::uint64_t>(i + 1));
      auto const t = tensor::zeros(dtype::f32, {3});
      auto* const x = t.data<float>();
      auto const value = static_cast<float>(10 * i + round);
      stream.enqueue([x, value] { x[2] = value; });
      auto const sum = g.all_reduce(t, reduction::sum, op_options().after(stream));
      sum.wait_on(stream);
      auto& list = seen[static_cast<std::size_t>(i)];
      stream.enqueue([t, &list] { list.push_back(t.const_data<float>()[2]); });
    }
  // The peer calls the last channel's operations first.
  for (int i = streams; i-- > 0;)
    for (int round = 0; round < rounds; ++round)
      v.group(1)
          .channel(static_cast<std::uint64_t>(i + 1))
          .all_reduce(tensor::full(dtype::f32, {3}, 1000));
  worker.run();
  for (int i = 0; i < streams; ++i) {
    auto const& list = seen[static_cast<std::size_t>(i)];
    REQUIRE(list.size() == rounds);
    for (int round = 0; round < rounds; ++round)
      CHECK(list[static_cast<std::size_t>(round)] == static_cast<float>(1000 + 10 * i + round));
  }
}
