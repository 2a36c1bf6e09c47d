// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Who calls the owner of borrowed memory when an operation was the last to hold it.
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <hocket/async/promise.hpp>
#include <hocket/async/stream.hpp>
#include <hocket/group/local_world.hpp>
#include <hocket/tensor/dlpack.hpp>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "patterns.hpp"

using namespace hocket;
using namespace hocket::test;
namespace asio = boost::asio;

namespace {

// Memory whose owner notes when and where it is told that nobody uses it any more.
class foreign {
 public:
  explicit foreign(std::int64_t n, dtype type = dtype::i32)
      : told_(std::make_shared<std::promise<place>>()), when_(told_->get_future()) {
    auto memory = std::make_shared<tensor>(patterned(type, {n}, 3));
    std::shared_ptr<void> owner(memory->bytes(), [memory, told = told_](void*) {
      told->set_value({std::this_thread::get_id(), detail::on_progress_thread()});
    });
    lent_ = tensor::from_storage(
        storage::borrow(memory->bytes(), memory->nbytes(), device(), std::move(owner)), type, {n});
  }
  /// The only reference, to be given away.
  tensor give() { return std::move(lent_); }
  [[nodiscard]] bool is_back() const {
    return when_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  struct place {
    std::thread::id thread;
    bool progress = false;
  };
  /// Waits for it.
  place where() { return when_.get(); }

 private:
  std::shared_ptr<std::promise<place>> told_;
  std::future<place> when_;
  tensor lent_;
};

std::thread::id here() { return std::this_thread::get_id(); }

template <class F>
void on_another_thread(F f) {
  std::thread(std::move(f)).join();
}

constexpr std::int64_t small = 5;
constexpr std::int64_t large = 1 << 20;  // left to the progress thread

}  // namespace

TEST_CASE("a peer's thread that completes a send does not call the owner of its memory") {
  asio::io_context ctx;
  local_world ranks(ctx.get_executor(), 2);
  foreign sent(small);
  ranks[0].group().send(sent.give(), group_rank(1));
  work<tensor> got;
  on_another_thread([&] { got = ranks[1].group().recv(group_rank(0)); });
  CHECK(got.ready());
  CHECK_FALSE(sent.is_back());
  ctx.run();
  REQUIRE(sent.is_back());
  CHECK(sent.where().thread == here());
}

TEST_CASE("the progress thread calls no owner, of inputs, outputs and objects' tensors") {
  asio::io_context ctx;
  local_world ranks(ctx.get_executor(), 2);
  auto const a = ranks[0].group();
  auto const b = ranks[1].group();
  foreign in(large), out(large), inside(large), parted(large);
  {
    auto keep_going = asio::make_work_guard(ctx);
    std::vector<work<>> all;
    a.send(in.give(), group_rank(1));
    all.push_back(b.recv(out.give(), group_rank(0)));
    a.send_object(inside.give(), group_rank(1));
    auto const object = b.recv_object<tensor>(group_rank(0));
    std::vector<tensor> each(2);
    each[0] = tensor::zeros(dtype::u8, {1});
    each[1] = parted.give();
    auto mine = a.scatter_objects(std::move(each), group_rank(0));
    auto const theirs = b.scatter_objects(std::vector<tensor>(), group_rank(0));
    CHECK(object.get(std::chrono::seconds(60)).numel() == large);
    CHECK(theirs.get(std::chrono::seconds(60)).numel() == large);
    all[0].released().get(std::chrono::seconds(60));
    CHECK_FALSE(out.is_back());  // the handle has it
    on_another_thread([&] { all.clear(); });
    on_another_thread([&] { mine = work<tensor>(); });
    CHECK_FALSE(in.is_back());
    CHECK_FALSE(out.is_back());
    CHECK_FALSE(inside.is_back());
    CHECK_FALSE(parted.is_back());
  }
  ctx.run();
  for (foreign* f : {&in, &out, &inside, &parted}) {
    REQUIRE(f->is_back());
    CHECK(f->where().thread == here());
  }
}

TEST_CASE("a stream's thread that lets an operation begin does not call the owner either") {
  asio::io_context ctx;
  local_world ranks(ctx.get_executor(), 2);
  foreign in(small);
  auto out = tensor::zeros(dtype::i32, {2 * small});
  auto other = tensor::zeros(dtype::i32, {2 * small});
  {
    host_stream s;
    promise<> gate(ctx.get_executor());
    s.wait(event(gate.get_work()));
    auto mine = ranks[0].group().all_gather(out, in.give(), op_options().after(s));
    auto const theirs = ranks[1].group().all_gather(other, patterned(dtype::i32, {small}, 4));
    CHECK_FALSE(mine.ready());
    mine = work<>();
    gate.set();
    theirs.get(std::chrono::seconds(60));
  }
  CHECK(equal(other.slice(0, 0, small), patterned(dtype::i32, {small}, 3)));
  CHECK_FALSE(in.is_back());
  ctx.run();
  CHECK(in.where().thread == here());
}

TEST_CASE("memory that somebody else still holds is nobody's business, and posts nothing") {
  asio::io_context ctx;
  local_world ranks(ctx.get_executor(), 2);
  foreign sent(small);
  auto kept = sent.give();
  ranks[0].group().send(kept, group_rank(1));
  on_another_thread([&] { static_cast<void>(ranks[1].group().recv(group_rank(0))); });
  CHECK(ctx.poll() == 0);
  CHECK_FALSE(kept.leased());
  CHECK_FALSE(sent.is_back());
  kept = tensor();
  CHECK(sent.where().thread == here());  // at once: this thread has dropped it
}

TEST_CASE("on the group's own executor the owner is told before the wait ends") {
  asio::io_context ctx;
  local_world ranks(ctx.get_executor(), 2);
  foreign sent(small);
  bool was_back = false;
  asio::post(ctx, [&] {
    ranks[0].group().send(sent.give(), group_rank(1));
    static_cast<void>(ranks[1].group().recv(group_rank(0)));
    was_back = sent.is_back();
  });
  ctx.run();
  CHECK(was_back);
}

TEST_CASE("a result of borrowed memory that nobody takes goes back on its executor") {
  asio::io_context ctx;
  foreign result(small);
  on_another_thread([&] {
    promise<tensor> p(ctx.get_executor());
    p.set(result.give());
  });
  CHECK_FALSE(result.is_back());
  ctx.run();
  CHECK(result.where().thread == here());
}

TEST_CASE("an imported tensor's deleter runs on the executor of the group that used it") {
  asio::io_context ctx;
  local_world ranks(ctx.get_executor(), 2);
  foreign exported(large);
  auto imported = from_dlpack(to_dlpack(exported.give()));
  ranks[0].group().send(std::exchange(imported, tensor()), group_rank(1));
  auto const got = ranks[1].group().recv(group_rank(0));
  CHECK(equal(got.get(std::chrono::seconds(60)), patterned(dtype::i32, {large}, 3)));
  got.released().get(std::chrono::seconds(60));
  ctx.run();
  CHECK(exported.where().thread == here());
}

TEST_CASE("with its executor gone an owner is told on this thread, but not on a progress thread") {
  for (bool const by_progress : {false, true}) {
    auto const n = by_progress ? large : small;
    std::optional<asio::io_context> ctx(std::in_place);
    promise<> gate{detail::port_ptr()};
    foreign sent(n);
    auto out = tensor::zeros(dtype::i32, {n});
    {
      local_world ranks(ctx->get_executor(), 2);
      ranks[0].group().send(sent.give(), group_rank(1), op_options().after(event(gate.get_work())));
      auto const got = ranks[1].group().recv(out, group_rank(0));
      ctx.reset();
      gate.set();
      auto const place = sent.where();
      CHECK_FALSE(place.progress);
      CHECK((place.thread == here()) == !by_progress);
    }
  }
}
