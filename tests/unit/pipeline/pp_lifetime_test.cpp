// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <chrono>
#include <hocket/parallel/model_parallel.hpp>
#include <hocket/pipeline/pp_scheduler.hpp>
#include <memory>
#include <refusal.hpp>
#include <span>
#include <vector>

#include "../parallel/programs.hpp"

using namespace hocket;
using namespace std::chrono_literals;
using test::numbered;
using test::outcome_of;
using test::refusal;
using test::run_everywhere;
namespace asio = boost::asio;

namespace {

void send_and_forget(PPScheduler const& pp, int value) {
  auto owner = std::make_shared<std::vector<float>>(1000, static_cast<float>(value));
  pp.isend_next(tensor::borrow(std::span(*owner), {10, 100}, owner).transpose(0, 1));
  auto big = numbered(dtype::i32, {512, 1024}, value);
  pp.isend_next(big);
}

asio::awaitable<void> dropped(world w) {
  PPScheduler pp(w.group());
  int const prev = (pp.stage() + pp.stages() - 1) % pp.stages();
  send_and_forget(pp, pp.stage());
  std::vector<std::vector<float>> const reuse(20, std::vector<float>(1000, -1.0F));
  co_await w.group().barrier();
  auto got = co_await pp.recv_prev_data();
  CHECK(equal(got, tensor::full(dtype::f32, {100, 10}, prev)));
  auto big = co_await pp.recv_prev_data();
  CHECK(equal(big, numbered(dtype::i32, {512, 1024}, prev)));
}

asio::awaitable<void> expectations(world w) {
  PPScheduler pp(w.group());
  int const me = pp.stage();
  int const prev = (me + pp.stages() - 1) % pp.stages();
  pp.isend_next(numbered(dtype::f32, {3, 4}, me));
  pp.isend_next(numbered(dtype::f32, {4, 3}, me));
  pp.isend_next(numbered(dtype::f64, {3, 4}, me));
  auto right = co_await pp.recv_prev_data(shape(3, 4), dtype::f32);
  CHECK(equal(right, numbered(dtype::f32, {3, 4}, prev)));
  auto turned = co_await outcome_of(pp.recv_prev_data(shape(3, 4), dtype::f32));
  CHECK(turned.code == errc::mismatch);
  CHECK(turned.says("expected f32[3,4], got f32[4,3]"));
  auto wide = co_await outcome_of(pp.recv_prev_data(shape(3, 4), dtype::f32));
  CHECK(wide.code == errc::mismatch);
  CHECK(wide.says("got f64[3,4]"));
  auto buffer = tensor::empty(dtype::f32, {2});
  auto sent = pp.isend_next(numbered(dtype::f32, {3}, me));
  auto small = co_await outcome_of(pp.irecv_prev(buffer));
  CHECK(small.code == errc::mismatch);
  auto seen = co_await outcome_of(std::move(sent));
  CHECK(seen.code == errc::mismatch);
}

asio::awaitable<void> tags_and_deadlines(world w) {
  PPScheduler pp(w.group());
  int const me = pp.stage();
  int const prev = (me + pp.stages() - 1) % pp.stages();
  op_options skip;
  skip.tag(5);
  auto skipped = pp.recv_prev_data(skip);
  pp.isend_next(numbered(dtype::i32, {2}, me));
  pp.isend_next(numbered(dtype::i32, {3}, me), skip);
  auto by_tag = co_await std::move(skipped);
  CHECK(equal(by_tag, numbered(dtype::i32, {3}, prev)));
  auto plain = co_await pp.recv_prev_data();
  CHECK(equal(plain, numbered(dtype::i32, {2}, prev)));
  op_options wrong;
  wrong.tag(std::uint64_t{1} << 62);
  auto refused = co_await outcome_of(pp.recv_prev_data(wrong));
  CHECK(refused.code == errc::invalid_argument);
  op_options soon;
  soon.deadline(5ms);
  auto late = co_await outcome_of(pp.recv_prev_data(shape(1), dtype::u8, soon));
  CHECK(late.code == errc::timed_out);
  // The receive that gave up was withdrawn: it does not take the next message.
  co_await w.group().barrier();
  pp.isend_next(numbered(dtype::i32, {4}, me));
  auto next = co_await pp.recv_prev_data();
  CHECK(equal(next, numbered(dtype::i32, {4}, prev)));
  auto other = pp.on(3);
  other.queue_irecv_prev();
  co_await w.group().barrier();
  other.close_channel();
  CHECK(pp.on(3).queued() == 0);
}

// The relay is under way while the request's handler waits for all ranks.
asio::awaitable<void> relay(world w) {
  PPScheduler pp(w.group());
  auto message = numbered(dtype::i64, {300, 300}, 1);
  if (!pp.is_first()) message = co_await pp.recv_prev_data();
  if (!pp.is_last()) pp.isend_next(message);
  co_await w.group().barrier();
  CHECK(equal(message, numbered(dtype::i64, {300, 300}, 1)));
}

asio::awaitable<void> of_the_state(world w) {
  auto s = co_await initialize_model_parallel(w, 1, 3, 2);
  CHECK(test::is_refused(refusal([&] { return pp_scheduler(s); }, errc::not_initialized)));
  auto pp = init_pp_scheduler(s);
  CHECK(test::is_refused(refusal([&] { return init_pp_scheduler(s); }, errc::already_initialized)));
  CHECK(pp_scheduler(s).group() == s.pp_group());
  CHECK(pp.stages() == 3);
  CHECK(pp.is_first() == s.is_first_pp_stage());
  int const me = w.rank().value();
  pp.isend_next(numbered(dtype::i32, {me + 1}, me));
  auto got = co_await pp_scheduler(s).recv_prev_data();
  int const prev = s.pp_prev().value();
  CHECK(equal(got, numbered(dtype::i32, {prev + 1}, prev)));
  pp_scheduler(s).queue_irecv_prev();
  CHECK(pp.queued() == 1);
  co_await w.group().barrier();
  co_await destroy_model_parallel(s);
  CHECK(test::is_refused(refusal([&] { return pp_scheduler(s); }, errc::not_initialized)));
  auto again = co_await initialize_model_parallel(w, 1, 2, 3);
  CHECK(test::is_refused(refusal([&] { return pp_scheduler(again); }, errc::not_initialized)));
  auto fresh = init_pp_scheduler(again);
  CHECK(fresh.queued() == 0);
  CHECK(fresh.stages() == 2);

  auto old = co_await outcome_of(pp.isend_next(numbered(dtype::i32, {1}, me)));
  CHECK(old.code == errc::group_closed);
}

// The only stage is its own next and previous one.
asio::awaitable<void> one_stage(world w) {
  auto s = co_await ParallelState::init(w, axis_sizes());
  auto pp = init_pp_scheduler(s);
  CHECK(pp.is_first());
  CHECK(pp.is_last());
  CHECK(pp.stages() == 1);
  pp.queue_irecv_prev();
  pp.queue_irecv_prev(shape(2), dtype::i32);
  pp.isend_next(numbered(dtype::i32, {3}, 1));
  auto back = pp.isend_prev(numbered(dtype::i32, {4}, 2));
  pp.isend_next(numbered(dtype::i32, {2}, 3));
  auto first = co_await pp.queue_irecv_prev_data();
  CHECK(equal(first, numbered(dtype::i32, {3}, 1)));
  auto second = co_await pp.queue_irecv_prev_data();
  CHECK(equal(second, numbered(dtype::i32, {2}, 3)));
  auto other_way = co_await pp.recv_next_data();
  CHECK(equal(other_way, numbered(dtype::i32, {4}, 2)));
  co_await std::move(back);

  auto apart = pp.on(3);
  apart.isend_next(numbered(dtype::i32, {1}, 5));
  op_options soon;
  soon.deadline(5ms);
  auto late = co_await outcome_of(pp.recv_prev_data(soon));
  CHECK(late.code == errc::timed_out);
  auto got = co_await apart.recv_prev_data();
  CHECK(equal(got, numbered(dtype::i32, {1}, 5)));
  apart.close_channel();

  co_await destroy_model_parallel(s);
  auto old = co_await outcome_of(pp.isend_next(numbered(dtype::i32, {1}, 0)));
  CHECK(old.code == errc::group_closed);
  auto none = co_await outcome_of(PPScheduler(process_group()).recv_prev_data());
  CHECK(none.code == errc::invalid_argument);
}

// One stage of a world of several ranks: each keeps to itself.
asio::awaitable<void> one_stage_of_several_ranks(world w) {
  axis_sizes sizes;
  sizes.cp = w.size();
  auto s = co_await ParallelState::init(w, sizes);
  auto pp = init_pp_scheduler(s);
  int const me = w.rank().value();
  for (int i = 0; i < 3; ++i) pp.isend_next(numbered(dtype::i32, {i + 1}, me));
  for (int i = 0; i < 3; ++i) {
    auto got = co_await pp.recv_prev_data();
    CHECK(equal(got, numbered(dtype::i32, {i + 1}, me)));
  }
  co_await destroy_model_parallel(s);
}

}  // namespace

TEST_CASE("a send whose handle, tensor and memory are dropped still arrives") {
  for (int n : {2, 3}) run_everywhere(n, dropped);
}
TEST_CASE("a tensor that is not the expected one is a mismatch naming both, and is consumed") {
  run_everywhere(3, expectations);
}
TEST_CASE("tags pass each other, and a receive past its deadline takes no message") {
  run_everywhere(3, tags_and_deadlines);
}
TEST_CASE("a relay goes on while its handler waits for a barrier of the world") {
  run_everywhere(3, relay);
}
TEST_CASE("the state's scheduler is made once and ends with the state") {
  run_everywhere(6, of_the_state);
}
TEST_CASE("the only stage of a state is its own next and previous, until the state ends") {
  run_everywhere(1, one_stage);
  run_everywhere(3, one_stage_of_several_ranks);
}
