// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <atomic>
#include <cstddef>
#include <hocket/tensor/dlpack.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "dlpack_layout.hpp"
#include "expect_error.hpp"

using namespace hocket;

namespace {

// A producer: owns values and extents, counts the calls of its deleter.
struct producer {
  DLManagedTensor managed{};
  std::vector<float> values = std::vector<float>(64);
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides;
  std::atomic<int> deleted{0};
  std::thread::id deleted_on;

  explicit producer(std::vector<std::int64_t> shape_, std::vector<std::int64_t> strides_ = {})
      : extents(std::move(shape_)), strides(std::move(strides_)) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 4;
    auto& t = managed.dl_tensor;
    t.data = values.data();
    set_device(t, 1, 0);
    t.ndim = static_cast<std::int32_t>(extents.size());
    set_type(t, 2, 32, 1);
    t.shape = extents.data();
    t.strides = strides.empty() ? nullptr : strides.data();
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* self) {
      auto* const p = static_cast<producer*>(self->manager_ctx);
      p->deleted_on = std::this_thread::get_id();
      ++p->deleted;
    };
  }
};

}  // namespace

TEST_CASE("an exported tensor has the elements, shape and strides, until its deleter is called") {
  auto const count = std::make_shared<int>(0);
  std::vector<std::int16_t> values(24);
  auto t = tensor::borrow(std::span(values), {4, 6}, count).slice(1, 1, 3);
  auto* const m = to_dlpack(t);
  auto const& d = m->dl_tensor;
  CHECK(d.data == values.data() + 1);
  CHECK(d.byte_offset == 0);
  CHECK(d.ndim == 2);
  CHECK(d.shape[0] == 4);
  CHECK(d.shape[1] == 3);
  CHECK(d.strides[0] == 6);
  CHECK(d.strides[1] == 1);
  CHECK(d.dtype.code == 0);
  CHECK(d.dtype.bits == 16);
  CHECK(d.dtype.lanes == 1);
  CHECK(device_type(d) == 1);
  t = tensor();
  CHECK(count.use_count() == 2);
  m->deleter(m);
  CHECK(count.use_count() == 1);
}

TEST_CASE("every dtype goes through DLPack and back without a copy") {
  for (int i = 0; i < dtype_count; ++i) {
    auto const t = tensor::arange(static_cast<dtype>(i), {3, 2, 4}).transpose(0, 2);
    auto const back = from_dlpack(to_dlpack(t));
    CHECK(back.dtype() == t.dtype());
    CHECK(back.const_bytes() == t.const_bytes());
    CHECK(equal(back, t));
  }
  CHECK(from_dlpack(to_dlpack(tensor::full(dtype::f64, {}, 3))).item<double>() == 3);
  CHECK(from_dlpack(to_dlpack(tensor::zeros(dtype::i8, {2, 0}))).shape() == shape(2, 0));
}

TEST_CASE("a tensor that an op holds is not exported") {
  auto const t = tensor::zeros(dtype::f32, {2, 3});
  read_lease const a(t.storage());
  write_lease b(t.storage());
  expect_error(errc::leased, "f32[2,3] is held by 1 readers and 1 writers: await released() first",
               [&] { (void)to_dlpack(t); });
}

TEST_CASE("an imported tensor calls its producer's deleter once, with the last reference") {
  producer p({2, 3});
  p.managed.dl_tensor.byte_offset = 8;
  auto t = from_dlpack(&p.managed);
  CHECK(t.item<float>(1, 2) == 1.75F);
  auto view = t.slice(0, 1, 1);
  read_lease lease(view.storage());
  t = tensor();
  view = tensor();
  CHECK(p.deleted == 0);
  lease.release();
  CHECK(p.deleted == 1);
}

TEST_CASE("strides of an imported tensor are followed") {
  producer p({3, 2}, {1, 20});
  auto const t = from_dlpack(&p.managed);
  CHECK_FALSE(t.is_contiguous());
  CHECK(t.item<float>(2, 1) == 22.F / 4);
}

TEST_CASE("the deleter runs where the caller wants it") {
  producer p({4});
  std::vector<std::function<void()>> queue;
  auto t = from_dlpack(&p.managed, [&](std::function<void()> f) { queue.push_back(std::move(f)); });
  std::thread([moved = std::move(t)]() mutable { moved = tensor(); }).join();
  CHECK(p.deleted == 0);
  REQUIRE(queue.size() == 1);
  queue[0]();
  CHECK(p.deleted == 1);
  CHECK(p.deleted_on == std::this_thread::get_id());
  queue[0]();
  queue.clear();
  CHECK(p.deleted == 1);
}

TEST_CASE("a runner that throws or forgets does not lose the deleter") {
  producer p({4});
  (void)from_dlpack(&p.managed, [](std::function<void()>) { throw std::runtime_error("closed"); });
  CHECK(p.deleted == 1);
  producer q({4});
  (void)from_dlpack(&q.managed, [](std::function<void()> f) { f = nullptr; });
  CHECK(q.deleted == 1);
}

TEST_CASE("what has no counterpart here is refused and stays the caller's") {
  auto const refused = [](producer& p, errc code, std::string const& text) {
    expect_error(code, text, [&] { (void)from_dlpack(&p.managed); });
    CHECK(p.deleted == 0);
  };
  producer p({2, 3});
  set_type(p.managed.dl_tensor, 2, 32, 4);
  refused(p, errc::unsupported, "DLPack type code 2, 32 bits, 4 lanes");
  set_type(p.managed.dl_tensor, 2, 32, 1);
  set_device(p.managed.dl_tensor, 10, 1);
  refused(p, errc::unsupported, "DLPack device type 10, id 1");
  producer negative({2, 3}, {3, -1});
  refused(negative, errc::unsupported, "DLPack stride -1 of dimension 1 is negative");
  producer many({1, 1, 1, 1, 1, 1, 1, 1, 1});
  refused(many, errc::unsupported, "DLPack tensor of 9 dimensions, at most 8");
  producer wrong({2, -3});
  refused(wrong, errc::invalid_argument, "extent -3 of dimension 1 is negative");
  expect_error(errc::invalid_argument, "no DLPack tensor (null)",
               [] { (void)from_dlpack(nullptr); });
}
