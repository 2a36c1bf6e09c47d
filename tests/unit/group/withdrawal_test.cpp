// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Waits that end early: what the operation still does, and when borrowed memory is free.
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <hocket/async/promise.hpp>
#include <hocket/group/local_world.hpp>
#include <span>
#include <vector>

#include "patterns.hpp"

using namespace hocket;
using namespace hocket::test;
namespace asio = boost::asio;

namespace {

constexpr auto long_enough = std::chrono::seconds(60);

struct pair_of_ranks {
  asio::io_context ctx;
  local_world ranks{ctx.get_executor(), 2};
  process_group const a = ranks[0].group();
  process_group const b = ranks[1].group();
};

tensor one(std::int32_t value) { return tensor::full(dtype::i32, {1}, value); }

template <class T>
boost::system::error_code code_of(work<T> const& w) {
  try {
    static_cast<void>(w.get(long_enough));
  } catch (boost::system::system_error const& e) {
    return e.code();
  }
  return {};
}

}  // namespace

TEST_CASE("a receive cancelled after it was matched consumes its message, and only that one") {
  pair_of_ranks p;
  promise<> mark(p.ctx.get_executor());
  auto out = one(0);
  auto const first = p.b.recv(out, group_rank(0), op_options().after(event(mark.get_work())));
  auto const sent = p.a.send(one(1), group_rank(1));
  first.get_canceller().cancel();
  CHECK(code_of(first) == asio::error::operation_aborted);
  CHECK_FALSE(first.released().ready());
  CHECK_FALSE(sent.ready());
  auto const second = p.b.recv(group_rank(0));
  p.a.send(one(2), group_rank(1));
  CHECK(second.get(long_enough).item<std::int32_t>(0) == 2);
  mark.set();
  CHECK_FALSE(code_of(sent));
  CHECK_FALSE(code_of(first.released()));
  CHECK(out.item<std::int32_t>(0) == 1);
}

TEST_CASE("a wait on memory without an owner ends only when that memory is free") {
  pair_of_ranks p;
  std::vector<std::int32_t> memory(3, 5);
  auto const t = tensor::unsafe_borrow(std::span(memory), {3});
  auto const w = p.a.all_gather(tensor::zeros(dtype::i32, {6}), t);
  asio::cancellation_signal signal;
  int calls = 0;
  w.async_wait(asio::bind_cancellation_slot(signal.slot(), [&](boost::system::error_code e) {
    ++calls;
    CHECK(e == asio::error::operation_aborted);
    CHECK_FALSE(t.leased());
  }));
  signal.emit(asio::cancellation_type::terminal);
  p.ctx.poll();
  CHECK(calls == 0);
  auto const other = p.b.all_gather(tensor::zeros(dtype::i32, {6}), patterned(dtype::i32, {3}, 1));
  p.ctx.restart();
  p.ctx.run();
  CHECK(calls == 1);
  CHECK_FALSE(code_of(w));  // the slot has ended one wait, not the operation
  CHECK_FALSE(code_of(other));
}

TEST_CASE("so it does where an object holds that memory") {
  pair_of_ranks p;
  std::vector<std::int32_t> memory(3, 5);
  auto const t = tensor::unsafe_borrow(std::span(memory), {3});
  for (bool const parted : {false, true}) {
    std::vector<tensor> each(2, t);
    auto const given = parted ? p.a.scatter_objects(each, group_rank(0))
                              : p.a.broadcast_object(std::optional<tensor>(t), group_rank(0));
    given.get_canceller().cancel();
    CHECK_FALSE(given.ready());
    auto const got = parted ? p.b.scatter_objects(std::vector<tensor>(), group_rank(0))
                            : p.b.broadcast_object(std::optional<tensor>(), group_rank(0));
    CHECK(equal(got.get(long_enough), t));
    CHECK(code_of(given) == asio::error::operation_aborted);
    CHECK_FALSE(t.leased());
  }
}
