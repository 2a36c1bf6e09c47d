// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <hocket/parallel/ema.hpp>
#include <limits>
#include <ranks.hpp>
#include <refusal.hpp>
#include <vector>

#include "parallel/ema_kernel.hpp"
#include "programs.hpp"

using namespace hocket;
using test::is_refused;
using test::refusal;
namespace asio = boost::asio;

namespace {

using list = std::vector<state_tensor>;

tensor wave(dtype type, shape const& extents, float scale) {
  auto t = tensor::empty(dtype::f32, extents);
  for (std::int64_t i = 0; i < t.numel(); ++i)
    t.data<float>()[i] = scale * std::sin(static_cast<float>(i) * 0.37F);
  if (type == dtype::f32) return t;
  auto other = tensor::empty(type, extents);
  DTensorFastEmaModelUpdater().copy_to({t}, {other});
  return other;
}

template <class Source>
void check_kernels(void (*detail::ema_kernel::*call)(float*, Source const*, std::int64_t, float)) {
  auto const& all = detail::ema_kernels();
  for (std::int64_t const n : {0, 1, 7, 8, 15, 16, 17, 63, 1001}) {
    tensor const source = wave(dtype_of<Source>, shape(n), 3);
    tensor const before = wave(dtype::f32, shape(n), -1.7F);
    tensor const right = before.clone();
    (all.back().*call)(right.data<float>(), source.template const_data<Source>(), n, 0.0001F);
    for (auto const& k : all) {
      CAPTURE(k.name);
      tensor const t = before.clone();
      (k.*call)(t.data<float>(), source.template const_data<Source>(), n, 0.0001F);
      CHECK(equal(t, right));
    }
  }
}

// Three sharded parameters and two plain ones, unevenly cut.
asio::awaitable<void> sharded_model(world w) {
  auto mesh = co_await init_device_mesh(w, shape(2, 2), mesh_names("replicate", "shard"));
  auto const model = [&](float scale) {
    list all;
    placements const where(replicate(), shard(0));
    for (auto const& extents : {shape(5, 3), shape(1), shape(4, 7)})
      all.emplace_back(distribute_tensor(wave(dtype::f32, extents, scale), mesh, where));
    all.emplace_back(wave(dtype::f32, {6}, scale));
    all.emplace_back(wave(dtype::f32, {2, 9}, scale).transpose(0, 1));
    return all;
  };
  auto const net = model(1);
  auto const ema = model(2);
  list before;
  for (auto const& p : net) before.emplace_back(p.local().clone());
  DTensorFastEmaModelUpdater updater;

  updater.update_average(net, ema, 0.75);
  for (std::size_t i = 0; i < net.size(); ++i) {
    auto const a = ema[i].local().contiguous();
    auto const b = net[i].local().contiguous();
    for (std::int64_t k = 0; k < a.numel(); ++k)
      CHECK(a.const_data<float>()[k] == doctest::Approx(1.75 * b.const_data<float>()[k]));
  }

  updater.cache(net);
  CHECK(updater.is_cached());
  CHECK(is_refused(refusal([&] { return updater.cache(net), 0; }, errc::already_initialized)));
  updater.copy_to(ema, net);
  for (std::size_t i = 0; i < net.size(); ++i) CHECK(equal(net[i].local(), ema[i].local()));
  list const four(net.begin(), net.begin() + 4);
  CHECK(is_refused(refusal([&] { return updater.restore(four), 0; })));
  CHECK(updater.is_cached());
  updater.restore(net);
  for (std::size_t i = 0; i < net.size(); ++i) CHECK(equal(net[i].local(), before[i].local()));
  CHECK(is_refused(refusal([&] { return updater.restore(net), 0; }, errc::not_initialized)));

  auto const lengths = refusal([&] { return updater.copy_to(net, four), 0; });
  CHECK(lengths.find("5 source and 4 target") != std::string::npos);
  CHECK(is_refused(refusal([&] { return updater.update_average(four, net), 0; })));
  list const plain(before.begin(), before.end());  // the same extents here, but of no mesh
  auto const kinds = refusal([&] { return updater.copy_to(plain, net), 0; });
  CHECK(kinds.find("parameter 0") != std::string::npos);
  co_await mesh.close();
}

}  // namespace

TEST_CASE("a thousand steps towards 0 at beta 0.9999 leave 0.904833 of 1") {
  auto const ema = tensor::full(dtype::f32, {3}, 1);
  auto const net = tensor::zeros(dtype::f32, {3});
  DTensorFastEmaModelUpdater const updater;
  for (int i = 0; i < 1000; ++i) updater.update_average({net}, {ema});
  CHECK(ema.const_data<float>()[2] == doctest::Approx(0.904833).epsilon(5e-7));
}

TEST_CASE("an average in another dtype than f32 is refused, and nothing is written") {
  auto const first = tensor::full(dtype::f32, {3}, 1);
  auto const net = tensor::zeros(dtype::f32, {3});
  DTensorFastEmaModelUpdater const updater;
  for (auto const type : {dtype::bf16, dtype::f16, dtype::f64, dtype::i32}) {
    auto const ema = tensor::full(type, {3}, 1);
    auto const story = refusal([&] { return updater.update_average({net, net}, {first, ema}), 0; });
    CHECK(story.find("parameter 1: an average is kept in f32 only") != std::string::npos);
    CHECK(story.find(name_of(type)) != std::string::npos);
  }
  CHECK(equal(first, tensor::full(dtype::f32, {3}, 1)));
  auto const copied = tensor::full(dtype::f32, {3}, 1e30L);
  updater.update_average({net}, {copied}, 0);
  CHECK(equal(copied, net));
  CHECK(is_refused(refusal([&] { return updater.update_average({net}, {first}, 1.5), 0; })));
  CHECK(is_refused(refusal([&] { return updater.update_average({net}, {first}, -0.1), 0; })));
  CHECK(is_refused(refusal([&] { return updater.update_average({first}, {first}), 0; })));
  auto const nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(is_refused(refusal([&] { return updater.update_average({net}, {first}, nan), 0; })));
}

TEST_CASE("every kernel of this processor gives the scalar one's bits, from f32, f16 and bf16") {
  check_kernels<float>(&detail::ema_kernel::from_f32);
  check_kernels<float16>(&detail::ema_kernel::from_f16);
  check_kernels<bfloat16>(&detail::ema_kernel::from_bf16);
}

TEST_CASE("sharded and plain parameters are averaged, lent, and restored bit for bit") {
  test::run_everywhere(4, sharded_model);
}

TEST_CASE("an average is lent to a model of another dtype, rounded") {
  auto const ema = tensor::full(dtype::f32, {2}, 1.00390625L);  // half a step of bf16 above 1
  auto const net = tensor::zeros(dtype::bf16, {2});
  DTensorFastEmaModelUpdater updater;
  updater.copy_to({ema}, {net});
  CHECK(equal(net, tensor::full(dtype::bf16, {2}, 1)));
  auto const whole = tensor::zeros(dtype::i64, {2});
  CHECK(is_refused(refusal([&] { return updater.copy_to({ema}, {whole}), 0; })));
}

TEST_CASE("beta rises with the step as power function averages ask") {
  CHECK(ema_beta(0, 0.1) == 0);
  // The exponent of rate 0.1 is 6.94: Karras et al., section 3.1.
  CHECK(ema_beta(99, 0.1) == doctest::Approx(std::pow(0.99, 7.94)).epsilon(1e-4));
  CHECK(ema_beta(1'000'000, 0.05) < 1);
  CHECK(ema_beta(1000, 0.05) < ema_beta(1000, 0.1) - 0.005);
  CHECK(is_refused(refusal([] { return ema_beta(1, 0.5); })));
}
