// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// A peer whose calls agree with those of the others, and which then gives something else, or takes
// what it is given otherwise than a rank does.
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <string>
#include <vector>

#include "announced.hpp"
#include "engine/host/announcement.hpp"
#include "foe.hpp"

using namespace hocket;
using namespace hocket::host;
using namespace hocket::host::test;

namespace {

tensor counted(dtype type, std::int64_t n) {
  auto t = tensor::empty(type, shape(n));
  for (std::size_t i = 0; i < t.nbytes(); ++i) t.bytes()[i] = static_cast<std::byte>(i % 50);
  return t;
}

// The call that it has heard of, as its own, giving something else.
std::string as_own(heard_frame const& call, std::vector<gift> const& gifts,
                   std::string const& payload, bool is_inline) {
  auto h = call.head;
  h.rank = 1;
  h.address = is_inline ? 0 : 31;
  h.flags = (h.flags & ~frame_flags::is_inline) | (is_inline ? frame_flags::is_inline : 0);
  return say(h, described(gifts), payload);
}

// Every way of giving a part of the wrong size or sort in that call.
template <class Call>
void check_wrong_gifts(dtype right, Call&& begin) {
  struct lie {
    lie(std::vector<gift> g, std::string p, bool i)
        : gifts(std::move(g)), payload(std::move(p)), is_inline(i) {}
    std::vector<gift> gifts;
    std::string payload;
    bool is_inline;
  };
  auto const width = size_of(right);
  std::vector<lie> const lies = {
      lie({}, "", true),
      lie({}, "", false),
      lie({gift(right, {1})}, std::string(width, 'x'), true),
      lie({gift(right, {1})}, "", false),
      lie({gift(right, {0})}, "", true),
      lie({gift(right, {std::int64_t{1} << 45})}, "", false),
      lie({gift(dtype::u8, {3})}, "abc", true),
      lie({gift(right, {1}), gift(right, {1})}, std::string(2 * width, 'x'), true),
  };
  for (auto const& l : lies) {
    CAPTURE(l.gifts.size());
    CAPTURE(l.is_inline);
    battle b;
    auto const waits = begin(b);
    b.enemy.answer();
    auto const call = b.enemy.hear(frame_kind::call);
    b.enemy.say(as_own(call, l.gifts, l.payload, l.is_inline));
    CHECK(b.enemy.is_cut_off());
    b.witness.forget_foe();  // which has said nothing to it: the victim waits for its call to end
    auto const story = ending_of(waits);
    CHECK_MESSAGE(story.find("rank 1 is lost: it gives") != std::string::npos, story);
    b.check_service();
  }
}

// The witness takes part, so that the call is carried out.
template <class Call>
auto with_witness(Call call) {
  return [call](battle& b) {
    b.witness_calls = call(*b.witness.group);
    return call(*b.victim.group);
  };
}

}  // namespace

TEST_CASE("a reduction in slices of parts that are too small") {
  check_wrong_gifts(dtype::f32, with_witness([](process_group const& g) {
                      return g.all_reduce(counted(dtype::f32, 300'001));
                    }));
}

TEST_CASE("a reduction in one piece of parts that are too small") {
  check_wrong_gifts(dtype::f32, with_witness([](process_group const& g) {
                      return g.all_reduce(counted(dtype::f32, 501));
                    }));
}

TEST_CASE("a reduction whose parts go to one rank each, of parts that are too small") {
  for (std::int64_t const n : {std::int64_t{100'003}, std::int64_t{101}})
    check_wrong_gifts(dtype::f64, with_witness([n](process_group const& g) {
                        return g.reduce_scatter(counted(dtype::f64, n), counted(dtype::f64, 3 * n));
                      }));
}

TEST_CASE("a gathering of parts of another size") {
  for (std::int64_t const n : {std::int64_t{100'003}, std::int64_t{101}})
    check_wrong_gifts(dtype::i64, with_witness([n](process_group const& g) {
                        return g.all_gather(counted(dtype::i64, 3 * n), counted(dtype::i64, n));
                      }));
}

TEST_CASE("a root whose tensor is larger than anybody has room for gets no room") {
  battle b;
  auto const into = counted(dtype::u8, 1000);
  auto const waits = b.victim.group->broadcast(into, group_rank(1));
  b.witness_calls = b.witness.group->broadcast(counted(dtype::u8, 1000), group_rank(1));
  b.enemy.answer();
  auto const call = b.enemy.hear(frame_kind::call);
  b.enemy.say(as_own(call, {gift(dtype::u8, {std::int64_t{1} << 50})}, "", false));
  // The witness has not heard from the root: it is lost to it when the test is over.
  b.witness.forget_foe();
  auto const story = ending_of(waits);
  CHECK_MESSAGE(story.find("rank 1 gives 1125899906842624 elements") != std::string::npos, story);
  b.check_service();
}

TEST_CASE("a rank that says twice that its slice is ready") {
  battle b;
  auto const all_reduces = [](process_group const& g) {
    return g.all_reduce(counted(dtype::f32, 300'001));
  };
  auto const waits = with_witness(all_reduces)(b);
  b.enemy.answer();
  auto const call = b.enemy.hear(frame_kind::call);
  auto h = from_foe(frame_kind::ready);
  h.address = call.head.address;
  b.enemy.say(say(h) + say(h));
  CHECK(b.enemy.is_cut_off());
  b.witness.forget_foe();
  auto const story = ending_of(waits);
  CHECK_MESSAGE(story.find("a rank says twice that it is ready") != std::string::npos, story);
  b.check_service();
}

TEST_CASE("an outcome of a message with a code that does not exist") {
  battle b;
  auto const waits = b.victim.group->send(counted(dtype::u8, 5), group_rank(1));
  b.enemy.answer();
  auto const call = b.enemy.hear(frame_kind::call);
  auto h = from_foe(frame_kind::outcome);
  h.handle = call.head.handle;
  h.flags = 1;
  h.code = 77'777;
  b.enemy.say(say(h));
  auto const story = ending_of(waits);
  CHECK_MESSAGE(story.find("failure code 77777 does not exist") != std::string::npos, story);
  b.check_service();
}

TEST_CASE("a message whose bytes are of another dtype than it says") {
  battle b;
  auto const waits = b.victim.group->recv(counted(dtype::f32, 8), group_rank(1));
  auto h = from_foe(frame_kind::call);
  h.operation = static_cast<std::uint8_t>(op_kind::send);
  h.root = 0;
  h.dtype = static_cast<std::uint8_t>(dtype::f32);
  h.count = 8;
  h.flags = frame_flags::has_shape | frame_flags::is_inline;
  b.enemy.say(say(h, described({gift(dtype::u8, {8})}), "12345678"));
  auto const story = ending_of(waits);
  CHECK_MESSAGE(story.find("rank 1 is lost: it gives u8[8] in") != std::string::npos, story);
  b.check_service();
}

TEST_CASE(
    "memory that its owner has back is not sent to one who asked for it and says it is done") {
  constexpr std::size_t bytes = 16 * 1024 * 1024;
  auto* const at = static_cast<std::byte*>(
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(at != MAP_FAILED);
  std::memset(at, 'm', bytes);
  battle b;
  {
    auto const lent =
        tensor::borrow(std::span(reinterpret_cast<std::uint8_t*>(at), bytes),
                       shape(std::int64_t{bytes}), std::shared_ptr<void>(at, [](void*) {}));
    auto const sent = b.victim.group->send(lent, group_rank(1));
    b.enemy.answer();
    auto const call = b.enemy.hear(frame_kind::call);
    auto ask = from_foe(frame_kind::fetch);
    ask.address = call.head.address;
    ask.bytes = bytes;
    ask.tag = 8;
    auto over = from_foe(frame_kind::outcome);
    over.handle = call.head.handle;
    b.enemy.say(say(ask) + say(over));  // and it does not read
    CHECK(ending_of(sent) == "done");
  }
  ::munmap(at, bytes);
  std::size_t heard = 0;
  for (;;) {
    auto const f = b.enemy.hear_any();
    if (f.head.kind == frame_kind::refuse) {
      CHECK(f.head.tag == 8);
      break;
    }
    if (f.head.kind != frame_kind::data) continue;
    heard += f.payload.size();
    CHECK(f.payload == std::string(f.payload.size(), 'm'));
  }
  CHECK(heard < bytes);
  b.check_service();
}
