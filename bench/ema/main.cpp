// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Is an average's update as fast as memory? Yardstick: a triad of the same bytes, on one core.
#include <hocket/parallel/ema.hpp>
#include <string>
#include <vector>

#include "../support/rounds.hpp"

using namespace hocket;

namespace {

typedef float lanes __attribute__((vector_size(64), aligned(64)));  // NOLINT: an extension

// a[i] = a[i] + s * b[i]: reads two arrays and writes one of them, as the update does.
__attribute__((noinline)) void triad_in_place(float* a, float const* b, std::int64_t n, float s) {
  auto* const to = reinterpret_cast<lanes*>(a);
  auto const* const from = reinterpret_cast<lanes const*>(b);
  for (std::int64_t i = 0; i < n / 16; ++i) to[i] = to[i] + s * from[i];
}

// a[i] = b[i] + s * c[i]: STREAM's.
__attribute__((noinline)) void triad(float* a, float const* b, float const* c, std::int64_t n,
                                     float s) {
  auto* const to = reinterpret_cast<lanes*>(a);
  auto const* const one = reinterpret_cast<lanes const*>(b);
  auto const* const two = reinterpret_cast<lanes const*>(c);
  for (std::int64_t i = 0; i < n / 16; ++i) to[i] = one[i] + s * two[i];
}

// A model of equal parameters, as many as make `total` elements.
void measure(std::int64_t total, std::int64_t each, int repeats) {
  auto const whole = [&](int k) { return tensor::full(dtype::f32, {total}, k); };
  auto const a = whole(1);
  auto const b = whole(2);
  auto const c = whole(3);
  auto const half = tensor::full(dtype::bf16, {total}, 2);
  auto const parameters = [&](tensor const& t) {
    std::vector<state_tensor> list;
    for (std::int64_t i = 0; i < total; i += each) list.emplace_back(t.slice(0, i, each));
    return list;
  };
  auto const ema = parameters(a);
  auto const net = parameters(b);
  auto const net_bf16 = parameters(half);
  DTensorFastEmaModelUpdater const updater;

  bench::competitors run;
  run.add("yardstick: triad in place, a = a + s * b", repeats, [&] {
    for (int i = 0; i < repeats; ++i)
      triad_in_place(a.data<float>(), b.const_data<float>(), total, 1e-3F);
  });
  run.add("triad into a third array, a = b + s * c", repeats, [&] {
    for (int i = 0; i < repeats; ++i)
      triad(a.data<float>(), b.const_data<float>(), c.const_data<float>(), total, 1e-3F);
  });
  run.add("hocket: update_average, f32 from f32", repeats, [&] {
    for (int i = 0; i < repeats; ++i) updater.update_average(net, ema);
  });
  run.add("hocket: update_average, f32 from bf16", repeats, [&] {
    for (int i = 0; i < repeats; ++i) updater.update_average(net_bf16, ema);
  });
  run.print((std::to_string(total / each) + " parameters of " + std::to_string(each) +
             " elements, " + std::to_string(total * 4 >> 10) + " KiB")
                .c_str(),
            9);
}

}  // namespace

int main() {
  measure(std::int64_t{1} << 26, std::int64_t{1} << 22, 2);
  measure(std::int64_t{1} << 26, std::int64_t{1} << 14, 2);
  measure(std::int64_t{1} << 17, std::int64_t{1} << 12, 500);  // in cache
}
