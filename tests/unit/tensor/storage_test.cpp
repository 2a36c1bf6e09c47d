// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <hocket/tensor/allocator.hpp>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "expect_error.hpp"

using namespace hocket;

static_assert(std::is_nothrow_move_constructible_v<read_lease>);
static_assert(std::is_nothrow_move_assignable_v<write_lease>);
static_assert(!std::is_copy_constructible_v<read_lease>);

TEST_CASE("leases count readers and writers and end with their object") {
  auto const s = storage::allocate(host_allocator(), 100);
  CHECK_FALSE(s->leased());
  {
    read_lease const a(s);
    read_lease b(s);
    write_lease w(s);
    CHECK(s->readers() == 2);
    CHECK(s->writers() == 1);
    CHECK(w.data() == s->data());
    read_lease moved(std::move(b));
    CHECK(s->readers() == 2);
    CHECK_FALSE(static_cast<bool>(b));
    moved.release();
    moved.release();
    CHECK(s->readers() == 1);
    w = write_lease();
    CHECK(s->writers() == 0);
    CHECK(s->leased());
  }
  CHECK_FALSE(s->leased());
}

TEST_CASE("a lease keeps the storage alive") {
  auto const counted = std::make_shared<int>(7);
  std::byte byte{};
  auto s = storage::borrow(&byte, 1, {}, counted);
  read_lease lease(s);
  s.reset();
  CHECK(counted.use_count() == 2);
  lease.release();
  CHECK(counted.use_count() == 1);
}

TEST_CASE("borrowed storage says whether anyone owns it") {
  std::vector<std::byte> bytes(5);
  CHECK(storage::unsafe_borrow(bytes.data(), 5, {})->is_unowned());
  CHECK_FALSE(storage::borrow(bytes.data(), 5, {}, std::make_shared<int>(1))->is_unowned());
  CHECK_FALSE(storage::allocate(host_allocator(), 5)->is_unowned());
}

TEST_CASE("an allocator gets the block back together with its marks") {
  struct marks : device_marks {
    explicit marks(int& n) : alive(n) { ++alive; }
    ~marks() override { --alive; }
    int& alive;
  };
  struct counting final : allocator {
    memory_block allocate(std::size_t bytes) override {
      return {
          .data = ::new std::byte[bytes], .bytes = bytes, .capacity = bytes, .fd = -1, .offset = 0};
    }
    void deallocate(memory_block const& b, std::unique_ptr<device_marks> m) noexcept override {
      marks_seen += m != nullptr ? 1 : 0;
      delete[] b.data;
    }
    hocket::device device() const noexcept override { return {device_kind::cuda, 1}; }
    int marks_seen = 0;
  };
  int alive = 0;
  counting from;
  auto s = storage::allocate(from, 3);
  CHECK(s->device() == device{device_kind::cuda, 1});
  CHECK(s->marks() == nullptr);
  s->set_marks(std::make_unique<marks>(alive));
  CHECK(alive == 1);
  s.reset();
  CHECK(alive == 0);
  CHECK(from.marks_seen == 1);
}

TEST_CASE("leases may be taken and dropped by many threads") {
  auto const s = storage::allocate(host_allocator(), 64);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&s, t] {
      for (int i = 0; i < 20'000; ++i) {
        read_lease const r(s);
        if (i % 4 == t) write_lease const w(r.held());
      }
    });
  for (auto& t : threads) t.join();
  CHECK(s->readers() == 0);
  CHECK(s->writers() == 0);
}

TEST_CASE("what a writer wrote is there for whoever sees its lease end") {
  auto const s = storage::allocate(host_allocator(), sizeof(int));
  for (int round = 0; round < 200; ++round) {
    write_lease w(s);
    std::thread writer([lease = std::move(w), round]() mutable {
      *reinterpret_cast<int*>(lease.data()) = round;
      lease.release();
    });
    while (s->leased()) std::this_thread::yield();
    int const seen = *reinterpret_cast<int const*>(std::as_const(*s).data());
    CHECK(seen == round);
    writer.join();
  }
}
